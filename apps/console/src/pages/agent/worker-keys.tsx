import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type Agent,
  agentActionsAct,
  type ApiKey,
  apiKeysCreate,
  apiKeysList,
  apiKeysRevoke,
  type CreatedApiKey,
} from '../../api/generated';
import { Time } from '../../format/time';
import { InstallWorker } from '../../parts/install-worker';
import { Button } from '../../ui/button';
import { CopyText } from '../../ui/copy-text';
import { ConfirmDialog, Dialog, DialogActions } from '../../ui/dialog';
import { ErrorNote } from '../../ui/error-note';
import { Panel, Skeleton } from '../../ui/page';
import { showToast } from '../../ui/toast';

const most = 200;

/** API keys of the agent's worker. To rotate one, create a key, send it to the worker and revoke the old key. */
export function WorkerKeys({ agent }: { agent: Agent }) {
  const [made, setMade] = useState<CreatedApiKey | null>(null);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const client = useQueryClient();
  const refreshKeys = () => client.invalidateQueries({ queryKey: ['api-keys'] });
  const { data, error, refetch } = useQuery({
    queryKey: ['api-keys', 'of', agent.id],
    queryFn: async ({ signal }) => readKeysOfAgent(agent.id, signal),
  });
  const making = useMutation({
    mutationFn: () =>
      apiKeysCreate({ body: { name: `worker of ${agent.name}`.slice(0, 200), scope: 'worker', agentId: agent.id } }),
    onSuccess: (key) => {
      setMade(key);
      void refreshKeys();
    },
  });
  return (
    <Panel
      title="Worker keys"
      actions={
        <Button busy={making.isPending} onClick={() => making.mutate()}>
          {agent.lastSeen === null ? 'New key and install command' : 'Rotate key'}
        </Button>
      }
    >
      {making.isError && <ErrorNote error={making.error} />}
      {error && !data ? <ErrorNote error={error} retry={() => void refetch()} /> : !data && <Skeleton rows={2} />}
      {data?.length === 0 && (
        <p className="text-dim">No key is bound to this agent. The worker uses a key of the organization.</p>
      )}
      <ul className="flex flex-col divide-y divide-line">
        {data?.map((key) => (
          <li key={key.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5">
            <code className="font-mono text-xs">msk_{key.id}</code>
            <span className="text-dim">
              created <Time at={key.createdAt} relative />, used <Time at={key.lastUsedAt} relative />
            </span>
            <Button className="ml-auto" onClick={() => setRevoking(key)} aria-label={`Revoke msk_${key.id}`}>
              Revoke
            </Button>
          </li>
        ))}
      </ul>
      {made && <CreatedKey agent={agent} made={made} close={() => setMade(null)} />}
      {revoking && (
        <ConfirmDialog
          open
          onOpenChange={() => setRevoking(null)}
          title={`Revoke msk_${revoking.id}?`}
          verb="Revoke"
          act={async () => {
            await apiKeysRevoke({ path: { id: revoking.id } });
            await refreshKeys();
            showToast('The key is revoked.');
          }}
        >
          If the worker of <bdi>{agent.name}</bdi> uses this key, it cannot connect until you install another one. You
          cannot undo this.
        </ConfirmDialog>
      )}
    </Panel>
  );
}

function CreatedKey({ agent, made, close }: { agent: Agent; made: CreatedApiKey; close: () => void }) {
  const giving = useMutation({
    mutationFn: () => agentActionsAct({ path: { id: agent.id }, body: { action: 'repair', apiKey: made.secret } }),
  });
  return (
    <Dialog open onOpenChange={close} title="New worker key" wide keeps>
      <p>Copy the new key now: it is not shown again. The previous key works until you revoke it.</p>
      <CopyText label="Worker key" text={made.secret} />
      {agent.lastSeen === null && agent.provider !== 'local' && (
        <InstallWorker agentId={agent.id} workerKey={made.secret} />
      )}
      {giving.isError && <ErrorNote error={giving.error} />}
      {giving.isSuccess && (
        <p role="status" className="rounded-control bg-good-soft p-2.5">
          The new key was sent to the worker, which restarts and uses it. Revoke the old key when the list shows that
          the new one is used.
        </p>
      )}
      <DialogActions>
        <Button busy={giving.isPending} disabled={giving.isSuccess} onClick={() => giving.mutate()}>
          Send to worker
        </Button>
        <Button look="primary" onClick={close}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}

/** Reads all pages of keys, because the list cannot be filtered by agent. */
async function readKeysOfAgent(agentId: string, signal: AbortSignal): Promise<ApiKey[]> {
  const found: ApiKey[] = [];
  let cursor: string | undefined;
  do {
    const page = await apiKeysList({ query: { limit: most, cursor }, signal });
    found.push(...page.apiKeys.filter((key) => key.agentId === agentId && key.scope === 'worker'));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}
