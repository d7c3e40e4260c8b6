//! Which reconciler runs when, decided by a machine that knows neither clock nor network.
