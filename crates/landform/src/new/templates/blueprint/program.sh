# Your program goes here, in any language. This one says what it was given, and waits.
echo "$GREETING"
while :; do sleep 3600; done
