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
export function supportsPasskeys(): boolean {
  return typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;
}

/** Creates a passkey in the browser and adds it to the user's account. */
export async function addPasskey(name: string): Promise<Passkey> {
  requirePasskeySupport();
  const options = await passkeysOptions();
  requirePasskeyHost(options.rp['id'] as string);
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
  requirePasskeySupport();
  const options = await passkeysSignInOptions();
  requirePasskeyHost(options.rpId);
  return promptForCredential(() =>
    navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(
        options as unknown as PublicKeyCredentialRequestOptionsJSON & PasskeyRequestOptions,
      ),
    }),
  );
}

function requirePasskeySupport(): void {
  if (supportsPasskeys()) return;
  throw createPasskeyError(
    'Passkeys are not available on this page. Use a recent browser, and open the console over https or on localhost.',
  );
}

/** A passkey is bound to one host name, so a page at another address, such as 127.0.0.1, cannot use it. */
function requirePasskeyHost(name: string): void {
  const { hostname, protocol, port } = location;
  if (hostname === name || hostname.endsWith(`.${name}`)) return;
  const place = name === 'localhost' ? `${protocol}//localhost${port ? `:${port}` : ''}` : `https://${name}`;
  throw createPasskeyError(`Passkeys of this service work at ${place} and not at ${hostname}. Open the console there.`);
}

async function promptForCredential(ask: () => Promise<Credential | null>): Promise<Record<string, unknown>> {
  try {
    const credential = await ask();
    return (credential as PublicKeyCredential).toJSON() as unknown as Record<string, unknown>;
  } catch (error) {
    if (isApiError(error)) throw error;
    const name = error instanceof DOMException ? error.name : '';
    throw createPasskeyError(
      name === 'InvalidStateError'
        ? 'This device already has a passkey of your account. Sign in with it.'
        : 'The browser provided no passkey: you declined, it took too long, or this device has none. Try again.',
    );
  }
}

function createPasskeyError(detail: string): ApiError {
  return new ApiError(0, { code: 'no_passkey', detail });
}
