import { ApiError, isApiError } from '../../api/api-error';
import {
  passkeysAdd,
  passkeysOptions,
  passkeysSignInOptions,
  type Passkey,
  type PasskeyCreationOptions,
  type PasskeyRequestOptions,
} from '../../api/generated';

/** Whether this browser supports passkeys on this page; it does not over plain HTTP. */
export function hasPasskeys(): boolean {
  return typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;
}

/** Creates a passkey in the browser and adds it to the user's account. */
export async function addPasskey(name: string): Promise<Passkey> {
  requireBrowser();
  const options = await passkeysOptions();
  requireHost(options.rp['id'] as string);
  const response = await promptForCredential(() =>
    navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(
        options as unknown as PublicKeyCredentialCreationOptionsJSON & PasskeyCreationOptions,
      ),
    }),
  );
  return passkeysAdd({ body: { name, response } });
}

/** Prompts for a passkey in the browser; returns the signed response. */
export async function askForPasskey(): Promise<Record<string, unknown>> {
  requireBrowser();
  const options = await passkeysSignInOptions();
  requireHost(options.rpId);
  return promptForCredential(() =>
    navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(
        options as unknown as PublicKeyCredentialRequestOptionsJSON & PasskeyRequestOptions,
      ),
    }),
  );
}

function requireBrowser(): void {
  if (hasPasskeys()) return;
  throw passkeyError(
    'Passkeys are not available on this page. They need a recent browser, and a page over https or on localhost.',
  );
}

/** A passkey is bound to one host name, so a page at another address, such as 127.0.0.1, cannot use it. */
function requireHost(name: string): void {
  const { hostname, protocol, port } = location;
  if (hostname === name || hostname.endsWith(`.${name}`)) return;
  const place = name === 'localhost' ? `${protocol}//localhost${port ? `:${port}` : ''}` : `https://${name}`;
  throw passkeyError(`Passkeys of this service work at ${place} and not at ${hostname}. Open the console there.`);
}

async function promptForCredential(ask: () => Promise<Credential | null>): Promise<Record<string, unknown>> {
  try {
    const credential = await ask();
    return (credential as PublicKeyCredential).toJSON() as unknown as Record<string, unknown>;
  } catch (error) {
    if (isApiError(error)) throw error;
    const name = error instanceof DOMException ? error.name : '';
    throw passkeyError(
      name === 'InvalidStateError'
        ? 'This device has a passkey of yours already.'
        : 'The browser provided no passkey: it was declined, took too long, or does not exist. Try again.',
    );
  }
}

function passkeyError(detail: string): ApiError {
  return new ApiError(0, { code: 'no_passkey', detail });
}
