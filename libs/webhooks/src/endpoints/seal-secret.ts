import type { Transaction, WebhookSecretEntity } from '@muster/database';
import { newId } from '@muster/platform';
import { type KeyRing, open, seal } from '@muster/vault';
import type { ClaimedDelivery } from '../deliveries/claim-delivery';
import { newSecret } from '../deliveries/sign-delivery';

type SecretOwner = Pick<WebhookSecretEntity, 'organizationId' | 'endpointId'>;

/** Adds a secret to an endpoint and returns it in plain text, because it is shown only once. */
export function addSecret(tx: Transaction, keyRing: KeyRing, owner: SecretOwner, secret = newSecret()): string {
  const { masterKeyId, wrappedKey, sealed } = seal(keyRing, secretContext(owner), secret);
  tx.defer(
    `INSERT INTO webhook_secret (id, organization_id, endpoint_id, master_key_id, wrapped_key, sealed)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [newId(), owner.organizationId, owner.endpointId, masterKeyId, wrappedKey, sealed],
  );
  return secret;
}

export function openSecrets(
  keyRing: KeyRing,
  { secrets, ...owner }: SecretOwner & Pick<ClaimedDelivery, 'secrets'>,
): string[] {
  return secrets.map(({ masterKeyId, wrappedKey, sealed }) =>
    open(keyRing, secretContext(owner), {
      masterKeyId,
      wrappedKey: Buffer.from(wrappedKey, 'base64'),
      sealed: Buffer.from(sealed, 'base64'),
    }),
  );
}

/** Context that binds a sealed secret to its endpoint: copied to another endpoint, it cannot be opened. */
export function secretContext({ organizationId, endpointId }: SecretOwner): string {
  return `${organizationId}/webhook-endpoint/${endpointId}`;
}
