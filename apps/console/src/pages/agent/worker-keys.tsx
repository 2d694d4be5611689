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
import { toast } from '../../ui/toast';

const most = 200;

/** The keys with which its worker speaks. A new one is made, the worker is given it, then the old one is revoked. */
export function WorkerKeys({ agent }: { agent: Agent }) {
  const [made, setMade] = useState<CreatedApiKey | null>(null);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: ['api-keys'] });
  const { data, error, refetch } = useQuery({
    queryKey: ['api-keys', 'of', agent.id],
    queryFn: async ({ signal }) => keysOf(agent.id, signal),
  });
  const making = useMutation({
    mutationFn: () =>
      apiKeysCreate({ body: { name: `worker of ${agent.name}`.slice(0, 200), scope: 'worker', agentId: agent.id } }),
    onSuccess: (key) => {
      setMade(key);
      void refresh();
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
      {data?.length === 0 && <p className="text-dim">None of its own: it speaks with a key of the organization.</p>}
      <ul className="flex flex-col divide-y divide-line">
        {data?.map((key) => (
          <li key={key.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5">
            <code className="font-mono text-xs">msk_{key.id}</code>
            <span className="text-dim">
              made <Time at={key.createdAt} relative />, used <Time at={key.lastUsedAt} relative />
            </span>
            <Button className="ml-auto" onClick={() => setRevoking(key)} aria-label={`Revoke msk_${key.id}`}>
              Revoke
            </Button>
          </li>
        ))}
      </ul>
      {made && <MadeKey agent={agent} made={made} close={() => setMade(null)} />}
      {revoking && (
        <ConfirmDialog
          open
          onOpenChange={() => setRevoking(null)}
          title={`Revoke msk_${revoking.id}?`}
          verb="Revoke"
          act={async () => {
            await apiKeysRevoke({ path: { id: revoking.id } });
            await refresh();
            toast('The key is revoked.');
          }}
        >
          If the worker of <bdi>{agent.name}</bdi> speaks with it, the service no longer hears it until it has another.
        </ConfirmDialog>
      )}
    </Panel>
  );
}

function MadeKey({ agent, made, close }: { agent: Agent; made: CreatedApiKey; close: () => void }) {
  const giving = useMutation({
    mutationFn: () => agentActionsAct({ path: { id: agent.id }, body: { action: 'repair', apiKey: made.secret } }),
  });
  return (
    <Dialog open onOpenChange={close} title="A new worker key" wide keeps>
      <p>It is shown only now. The one before works until it is revoked.</p>
      <CopyText label="Worker key" text={made.secret} />
      {agent.lastSeen === null && agent.provider !== 'local' && (
        <InstallWorker agentId={agent.id} workerKey={made.secret} />
      )}
      {giving.isError && <ErrorNote error={giving.error} />}
      {giving.isSuccess && (
        <p role="status" className="rounded-control bg-good-soft p-2.5">
          The key was sent to the worker. It restarts with it; once that one is in use here, revoke the other.
        </p>
      )}
      <DialogActions>
        <Button busy={giving.isPending} disabled={giving.isSuccess} onClick={() => giving.mutate()}>
          Send it to the worker
        </Button>
        <Button look="primary" onClick={close}>
          Done
        </Button>
      </DialogActions>
    </Dialog>
  );
}

/** The list has no filter for an agent: it is read to its end, which is not far. */
async function keysOf(agentId: string, signal: AbortSignal): Promise<ApiKey[]> {
  const found: ApiKey[] = [];
  let cursor: string | undefined;
  do {
    const page = await apiKeysList({ query: { limit: most, cursor }, signal });
    found.push(...page.apiKeys.filter((key) => key.agentId === agentId && key.scope === 'worker'));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}
