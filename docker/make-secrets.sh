#!/bin/sh
# Creates the secrets that compose.yaml mounts. Existing secrets are not changed.
set -eu
cd "$(dirname "$0")"

# Compose mounts these files with their own mode, and the apps do not own them. So the files are readable by all users,
# but only the owner can open the folder.
mkdir -p secrets
chmod 700 secrets
umask 022

hex() { od -An -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }
base64_bytes() { head -c "$1" /dev/urandom | base64 | tr -d '\n'; }

keep() {
  [ -s "secrets/$1" ] && return
  printf '%s\n' "$2" >"secrets/$1"
  echo "created docker/secrets/$1"
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
