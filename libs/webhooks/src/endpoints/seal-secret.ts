import type { Transaction, WebhookSecretEntity } from '@muster/database';
import { newId } from '@muster/platform';
import { type KeyRing, openEnvelope, sealValue } from '@muster/vault';
import type { ClaimedDelivery } from '../deliveries/claim-delivery';
import { generateSecret } from '../deliveries/sign-delivery';

type SecretOwner = Pick<WebhookSecretEntity, 'organizationId' | 'endpointId'>;

/** Adds a secret to an endpoint and returns it in plain text, because it is shown only once. */
export function insertSealedSecret(
  tx: Transaction,
  keyRing: KeyRing,
  owner: SecretOwner,
  secret = generateSecret(),
): string {
  const { masterKeyId, wrappedKey, sealed } = sealValue(keyRing, buildSecretContext(owner), secret);
  tx.deferStatement(
    `INSERT INTO webhook_secret (id, organization_id, endpoint_id, master_key_id, wrapped_key, sealed)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [newId(), owner.organizationId, owner.endpointId, masterKeyId, wrappedKey, sealed],
  );
  return secret;
}

export function decryptSecrets(
  keyRing: KeyRing,
  { secrets, ...owner }: SecretOwner & Pick<ClaimedDelivery, 'secrets'>,
): string[] {
  return secrets.map(({ masterKeyId, wrappedKey, sealed }) =>
    openEnvelope(keyRing, buildSecretContext(owner), {
      masterKeyId,
      wrappedKey: Buffer.from(wrappedKey, 'base64'),
      sealed: Buffer.from(sealed, 'base64'),
    }),
  );
}

/** Context that binds a sealed secret to its endpoint: copied to another endpoint, it cannot be opened. */
export function buildSecretContext({ organizationId, endpointId }: SecretOwner): string {
  return `${organizationId}/webhook-endpoint/${endpointId}`;
}
