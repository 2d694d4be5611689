import { Muster } from '@muster/sdk';
import type { Login } from './logins';
import { version } from './version';

/** Maximum size of a response body, in bytes. Every response that a command reads completely is smaller. */
const maxResponseBytes = 64 * 1024 * 1024;

export function createClient({ url, apiKey, session }: Login): Muster {
  const headers = { 'user-agent': `muster-cli/${version}` };
  return new Muster({ baseUrl: url, apiKey, session, headers, maxResponseBytes });
}
