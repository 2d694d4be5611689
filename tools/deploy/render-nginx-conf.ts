import { type PathOwner, pathOwners } from '@muster/contracts';
import { buildPathRegex } from './build-path-regex';

/** The port on which every app of the image listens (docker/Dockerfile). */
const appPort = 3000;

/**
 * Returns the configuration of the proxy in docker/compose.yaml. Every row except the last is a regular expression,
 * because nginx tries those in the order of the file, as the table requires. It orders exact and prefix locations
 * itself.
 */
export function renderNginxConf(table: readonly PathOwner[] = pathOwners): string {
  const rows = table.slice(0, -1);
  const rest = table.at(-1);
  if (rest?.path !== '/*') throw new Error('the last row of pathOwners must be /*, which matches all other paths');
  const locations = [
    ...rows.map((row) => renderLocation(`~ "${buildPathRegex(row.path)}"`, row.app)),
    renderLocation('/', rest.app),
  ];
  return `${head}\n${locations.join('\n\n')}\n  }\n}\n`;
}

function renderLocation(match: string, app: string): string {
  // A host name in a variable is resolved for each request, a literal one only when nginx starts.
  return `    location ${match} {\n      set $app ${app};\n      proxy_pass http://$app:${appPort};\n    }`;
}

const head = `# Generated from libs/contracts/src/http/path-owners.ts by tools/deploy/generate.ts: do not edit.
worker_processes auto;
# In the container only /tmp is writable.
pid /tmp/nginx.pid;
error_log /dev/stderr warn;

events {
  worker_connections 4096;
}

http {
  client_body_temp_path /tmp/nginx-body;
  proxy_temp_path /tmp/nginx-proxy;
  fastcgi_temp_path /tmp/nginx-fastcgi;
  uwsgi_temp_path /tmp/nginx-uwsgi;
  scgi_temp_path /tmp/nginx-scgi;
  server_tokens off;

  # Logs the path without its query, which may contain a secret, and without the token of an answer link.
  map $uri $logged_path {
    ~^/a/ /a/-;
    default $uri;
  }
  log_format muster '$remote_addr $request_method $logged_path $status $request_time $upstream_addr $sent_http_x_request_id';
  access_log /dev/stdout muster;

  # Docker's DNS; valid=5s repeats lookups because replicas appear, disappear and change their addresses.
  resolver 127.0.0.11 valid=5s ipv6=off;

  # Configuration of the operator, such as set_real_ip_from (docker/README.md).
  include /etc/nginx/muster.d/*.conf;

  server {
    listen 8080;

    # Largest body that any route accepts. Each app enforces the limits of its routes.
    client_max_body_size 100m;

    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    # The header is replaced, not appended to, because no proxy before this one is trusted.
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Host $http_host;
    proxy_set_header X-Forwarded-Proto $scheme;
    # Without buffering, server-sent events are forwarded immediately.
    proxy_buffering off;
    proxy_connect_timeout 5s;
    # start_job responds after up to two minutes; a stream sends a comment every 15 seconds.
    proxy_read_timeout 180s;
`;
