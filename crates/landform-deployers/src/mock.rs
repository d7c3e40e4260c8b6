//! `landscaper.gardener.cloud/mock`: deploys nothing and says what it was told to say.
