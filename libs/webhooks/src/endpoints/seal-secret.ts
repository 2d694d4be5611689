import type { Transaction, WebhookSecretEntity } from '@muster/database';
import { newId } from '@muster/platform';
import { type KeyRing, open, seal } from '@muster/vault';
import type { ClaimedDelivery } from '../deliveries/claim-delivery';
import { newSecret } from '../deliveries/sign-delivery';

type Of = Pick<WebhookSecretEntity, 'organizationId' | 'endpointId'>;

/** Gives an endpoint another secret, and answers it, for the one time that it is shown. */
export function addSecret(tx: Transaction, keyRing: KeyRing, of: Of, secret = newSecret()): string {
  const { masterKeyId, wrappedKey, sealed } = seal(keyRing, placeOf(of), secret);
  tx.defer(
    `INSERT INTO webhook_secret (id, organization_id, endpoint_id, master_key_id, wrapped_key, sealed)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [newId(), of.organizationId, of.endpointId, masterKeyId, wrappedKey, sealed],
  );
  return secret;
}

export function openSecrets(keyRing: KeyRing, { secrets, ...of }: Of & Pick<ClaimedDelivery, 'secrets'>): string[] {
  return secrets.map(({ masterKeyId, wrappedKey, sealed }) =>
    open(keyRing, placeOf(of), {
      masterKeyId,
      wrappedKey: Buffer.from(wrappedKey, 'base64'),
      sealed: Buffer.from(sealed, 'base64'),
    }),
  );
}

/** Binds a sealed secret to its endpoint: moved to another one, it does not open. */
export function placeOf({ organizationId, endpointId }: Of): string {
  return `${organizationId}/webhook-endpoint/${endpointId}`;
}
