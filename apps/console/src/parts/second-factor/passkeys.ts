import { ApiError, isApiError } from '../../api/api-error';
import {
  passkeysAdd,
  passkeysOptions,
  passkeysSignInOptions,
  type Passkey,
  type PasskeyCreationOptions,
  type PasskeyRequestOptions,
} from '../../api/generated';

/** Whether this browser can sign in with one here at all: over plain http it shows nobody. */
export function hasPasskeys(): boolean {
  return typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;
}

/** Has the browser make one, and adds it. */
export async function addPasskey(name: string): Promise<Passkey> {
  requireBrowser();
  const options = await passkeysOptions();
  requireHost(options.rp['id'] as string);
  const response = await asked(() =>
    navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(
        options as unknown as PublicKeyCredentialCreationOptionsJSON & PasskeyCreationOptions,
      ),
    }),
  );
  return passkeysAdd({ body: { name, response } });
}

/** Has the browser ask for one; answers what proves it. */
export async function askForPasskey(): Promise<Record<string, unknown>> {
  requireBrowser();
  const options = await passkeysSignInOptions();
  requireHost(options.rpId);
  return asked(() =>
    navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(
        options as unknown as PublicKeyCredentialRequestOptionsJSON & PasskeyRequestOptions,
      ),
    }),
  );
}

function requireBrowser(): void {
  if (hasPasskeys()) return;
  throw refusal(
    'This browser has no passkeys here: they need a recent browser, and a page over https or on localhost.',
  );
}

/** A passkey holds for one name; a page at another address, such as 127.0.0.1, cannot ask for it. */
function requireHost(name: string): void {
  const { hostname, protocol, port } = location;
  if (hostname === name || hostname.endsWith(`.${name}`)) return;
  const place = name === 'localhost' ? `${protocol}//localhost${port ? `:${port}` : ''}` : `https://${name}`;
  throw refusal(`Passkeys of this service work at ${place} and not at ${hostname}. Open it there.`);
}

async function asked(ask: () => Promise<Credential | null>): Promise<Record<string, unknown>> {
  try {
    const credential = await ask();
    return (credential as PublicKeyCredential).toJSON() as unknown as Record<string, unknown>;
  } catch (error) {
    if (isApiError(error)) throw error;
    const name = error instanceof DOMException ? error.name : '';
    throw refusal(
      name === 'InvalidStateError'
        ? 'This device has a passkey of yours already.'
        : 'The browser gave no passkey: it was declined, took too long, or there is none.',
    );
  }
}

function refusal(detail: string): ApiError {
  return new ApiError(0, { code: 'no_passkey', detail });
}
