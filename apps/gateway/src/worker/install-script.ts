/**
 * The environment variables that the installer saves for the worker and its scripts, as `muster worker install` does.
 */
const savedVariables = [
  ...['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'DISPLAY', 'SSL_CERT_FILE', 'CHROMIUM', 'PYTHON'],
  ...['IMAGING_ROOT', 'IMAGING_DATA_FILE', 'IMAGING_ALLOWED_ROOTS', 'IMAGING_PATH_MAP', 'IMAGING_PYTHONPATH'],
  ...['IMAGING_LIBRARY_PATH', 'PRACTICE_DATABASE', 'PRACTICE_PATIENT_QUERY', 'MUSTER_TUNNEL_HOSTNAME'],
  ...['MUSTER_WORKER_LISTEN', 'MUSTER_FENCE_MS', 'MUSTER_SPOOL_LIMIT_BYTES', 'MUSTER_BUNDLE_CACHE_BYTES'],
];

/**
 * Returns the script that `curl … | AGENT_ID=… SERVICE_API_KEY=… sh` runs on a machine that becomes an agent. It
 * downloads the worker from the service, verifies its hash and starts it for the current user, if possible by systemd.
 */
export function renderInstallScript(service: string): string {
  return `#!/bin/sh
# Installs a Muster worker for the user who runs this script:
#   curl -fsSL ${service}/worker/install.sh | AGENT_ID=… SERVICE_API_KEY=… sh
set -eu
service="\${SERVICE_BASE_URL:-${service}}"
fail() { printf 'muster-worker: %s\\n' "$1" >&2; exit 1; }

[ -n "\${AGENT_ID:-}" ] || fail "AGENT_ID is not set; you find it on the agent's page"
[ -n "\${SERVICE_API_KEY:-}" ] || fail "SERVICE_API_KEY is not set; it is the agent's worker key"
case "$AGENT_ID$SERVICE_API_KEY" in *[!A-Za-z0-9_-]*) fail "AGENT_ID and SERVICE_API_KEY may contain only letters, digits, _ and -" ;; esac
node=$(command -v node) || fail "the worker needs Node 20.19 or newer on PATH"
"$node" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' \\
  || fail "the worker needs Node 20.19 or newer; this is $("$node" --version)"
command -v python3 > /dev/null || fail "the worker needs python3 on PATH"

umask 077
# muster worker status, logs, upgrade and uninstall use this folder. A second agent of this machine has its own folder next to it.
usual="\${XDG_STATE_HOME:-$HOME/.local/state}/muster-worker"
folder="\${MUSTER_WORKER_HOME:-$usual}"
if [ "$folder" = "$usual" ] && [ -f "$usual/worker.env" ] && ! grep -qx "AGENT_ID=$AGENT_ID" "$usual/worker.env"; then
  folder="$usual-$AGENT_ID"
fi
mkdir -p "$folder/data"
fetch() {
  if command -v curl > /dev/null; then curl -fsSL "$1"; else wget -qO- "$1"; fi
}
fetch "$service/worker/muster-worker.js" > "$folder/muster-worker.js.new" || fail "the worker could not be downloaded from $service"
wanted=$(fetch "$service/worker/muster-worker.js.sha256" | cut -c1-64)
found=$("$node" -e 'const c = require("crypto"), f = require("fs"); console.log(c.createHash("sha256").update(f.readFileSync(process.argv[1])).digest("hex"))' "$folder/muster-worker.js.new")
[ -n "$wanted" ] && [ "$wanted" = "$found" ] || fail "the downloaded worker does not have the hash that the service reports"
mv "$folder/muster-worker.js.new" "$folder/muster-worker.js"
# Saves the variables that are set now, so that the worker has them after a reboot too.
rm -f "$folder/worker.env" "$folder/systemd.env"
{
  for name in ${savedVariables.join(' ')}; do
    eval "value=\\\${$name-}"
    case "$value" in '' | *'
'*) ;; *) printf '%s=%s\\n' "$name" "$value" ;; esac
  done
  printf 'SERVICE_BASE_URL=%s\\nSERVICE_API_KEY=%s\\nAGENT_ID=%s\\nMUSTER_WORKER_DIR=%s\\n' \\
    "$service" "$SERVICE_API_KEY" "$AGENT_ID" "$folder/data"
} > "$folder/worker.env"

unit=muster-worker.service
if [ "$folder" != "$usual" ]; then
  unit="muster-worker-$("$node" -e 'const c = require("crypto"); console.log(c.createHash("sha256").update(process.argv[1]).digest("hex").slice(0, 8))' "$folder").service"
fi
# MUSTER_WORKER_SYSTEMD=no installs without systemd.
if [ "\${MUSTER_WORKER_SYSTEMD:-}" = no ]; then
  control=
elif [ "$(id -u)" = 0 ] && [ -d /run/systemd/system ]; then
  units=/etc/systemd/system; target=multi-user.target; control="systemctl"
elif [ "$(id -u)" != 0 ] && systemctl --user show-environment > /dev/null 2>&1; then
  units="\${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user"; target=default.target; control="systemctl --user"
  loginctl enable-linger > /dev/null 2>&1 || true
else
  control=
fi
if [ -n "$control" ]; then
  # systemd does not start a program with such a path, whatever the quotes and escapes around it.
  case "$node" in *[\\"\\'\\\\]*) fail "systemd cannot run $node: its path contains a quote or a backslash. Set MUSTER_WORKER_SYSTEMD=no to install without systemd" ;; esac
  mkdir -p "$units"
  # Quotes and escapes the values for systemd.
  sed 's/["\\\\$\`]/\\\\&/g; s/=/="/; s/$/"/' "$folder/worker.env" > "$folder/systemd.env"
  # systemd replaces % in every path, and $ in arguments but not in the path of the program. It interprets quotes and
  # backslashes in ExecStart, and expands EnvironmentFile as a file pattern.
  plain() { printf '%s\\n' "$1" | sed 's/%/%%/g'; }
  quoted() { plain "$1" | sed 's/["\\\\]/\\\\&/g; s/^/"/; s/$/"/'; }
  argument() { quoted "$1" | sed 's/\\$/$$/g'; }
  pattern() { plain "$1" | sed 's/[][*?\\\\]/\\\\&/g'; }
  cat > "$units/$unit" <<UNIT
[Unit]
Description=Muster worker of the agent $AGENT_ID
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=$(quoted "$node") $(argument "$folder/muster-worker.js")
WorkingDirectory=$(plain "$folder")
EnvironmentFile=$(pattern "$folder/systemd.env")
StandardOutput=append:$(plain "$folder/worker.log")
StandardError=append:$(plain "$folder/worker.log")
# A run survives its worker; the next worker resumes it.
KillMode=process
TimeoutStopSec=60
Restart=always
RestartSec=5
# 2: its settings are wrong. 3: another worker took over, or the agent was terminated. A restart would not help.
RestartPreventExitStatus=2 3

[Install]
WantedBy=$target
UNIT
  $control daemon-reload
  $control enable "$unit" > /dev/null 2>&1
  $control restart "$unit"
  echo "muster-worker: the worker runs as $unit and starts with this machine"
else
  if [ -f "$folder/data/worker.lock" ]; then
    old=$(sed -n 's/.*"pid":\\([0-9]*\\).*/\\1/p' "$folder/data/worker.lock")
    if [ -n "$old" ] && kill "$old" 2> /dev/null; then
      for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$old" 2> /dev/null || break; sleep 1; done
    fi
  fi
  set --
  while IFS= read -r line; do set -- "$@" "$line"; done < "$folder/worker.env"
  cd "$folder"
  nohup env "$@" "$node" "$folder/muster-worker.js" >> "$folder/worker.log" 2>&1 < /dev/null &
  echo "muster-worker: the worker runs and writes to $folder/worker.log. Without systemd it does not start with this machine; use muster worker start"
fi
echo "Capabilities of this machine:"
"$node" "$folder/muster-worker.js" capabilities
case "$folder" in "$usual") dir= ;; *) dir=" --dir $folder" ;; esac
echo "Manage it with the CLI of $service: muster worker status$dir, and also logs, upgrade and uninstall"
`;
}
