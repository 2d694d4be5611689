import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type ApiKey, apiKeysCreate, apiKeysRevoke, type CreatedApiKey } from '../../api/generated';
import { settingsQuery } from '../../api/session';
import { Button } from '../../ui/button';
import { CopyText } from '../../ui/copy-text';
import { Dialog } from '../../ui/dialog';
import { Form } from '../../ui/form';
import { showToast } from '../../ui/toast';

/** Creates a key with the same rights as the old key. Both keys are valid until the user revokes the old key. */
export function RotateKey({ old, close }: { old: ApiKey; close: () => void }) {
  const [made, setMade] = useState<CreatedApiKey | null>(null);
  const client = useQueryClient();
  const refreshKeys = () => client.invalidateQueries({ queryKey: ['api-keys'] });
  return (
    <Dialog open onOpenChange={close} title={`Rotate ${old.name}`} keeps={made !== null}>
      {made ? (
        <Form
          submit="Revoke the old key"
          danger
          actions={<Button onClick={close}>Keep both for now</Button>}
          onSubmit={() => apiKeysRevoke({ path: { id: old.id } })}
          onDone={() => {
            void refreshKeys();
            showToast(`The old key of ${old.name} is revoked.`);
            close();
          }}
        >
          <p>The new key is shown only once. Replace the old key wherever it is used, then revoke it.</p>
          <CopyText label={made.name} text={made.secret} />
        </Form>
      ) : (
        <Form
          submit="Create new key"
          onSubmit={async () => {
            const { name, scope, agentId, expiresAt, role, ipAllow } = old;
            const { apiKeyMaxDays } = await client.fetchQuery(settingsQuery);
            const latest = apiKeyMaxDays === null ? Infinity : Date.now() + apiKeyMaxDays * 86_400_000;
            const at = expiresAt === null ? 0 : Date.parse(expiresAt);
            // Without expiresAt the service uses the latest expiry that the organization allows.
            const holds = at > Date.now() && at < latest ? expiresAt : null;
            return apiKeysCreate({ body: { name, scope, agentId, expiresAt: holds, role, ipAllow } });
          }}
          onDone={(created) => {
            setMade(created);
            void refreshKeys();
          }}
        >
          <p className="text-dim">
            A key with the same name and rights is created. The old key works until you revoke it.
          </p>
        </Form>
      )}
    </Dialog>
  );
}
