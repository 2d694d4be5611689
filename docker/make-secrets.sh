#!/bin/sh
# Makes the secrets that compose.yaml mounts. What is there already stays as it is.
set -eu
cd "$(dirname "$0")"

# Compose mounts these files with their own mode, and the apps are not their owner: the files can be read by anybody,
# the folder by nobody else.
mkdir -p secrets
chmod 700 secrets
umask 022

hex() { od -An -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }
base64_bytes() { head -c "$1" /dev/urandom | base64 | tr -d '\n'; }

keep() {
  [ -s "secrets/$1" ] && return
  printf '%s\n' "$2" >"secrets/$1"
  echo "made docker/secrets/$1"
}

keep postgres_password "$(hex 24)"
keep database_url "postgres://muster:$(cat secrets/postgres_password)@postgres:5432/muster"
keep redis_password "$(hex 24)"
keep redis_conf "requirepass $(cat secrets/redis_password)"
keep redis_url "redis://:$(cat secrets/redis_password)@redis:6379"
keep master_keys "k1:$(base64_bytes 32)"
keep cron_secret "$(hex 24)"
keep s3_secret_access_key "$(hex 24)"
keep bootstrap_admin_password "$(hex 12)"
keep bootstrap_super_admin_password "$(hex 12)"
