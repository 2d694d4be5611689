import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type ApiKey,
  apiKeysCreate,
  type ApiKeyList,
  apiKeysList,
  apiKeysRevoke,
  type CreatedApiKey,
} from '../../api/generated';
import { useList } from '../../api/use-list';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { CopyText } from '../../ui/copy-text';
import { ConfirmDialog, Dialog, DialogActions } from '../../ui/dialog';
import { Form, SelectField, TextField } from '../../ui/form';
import { ActionMenu } from '../../ui/menu';
import { showToast } from '../../ui/toast';
import { AgentField } from '../../parts/pickers';
import { CardRow } from '../../ui/table/card';
import { SimpleList } from '../../ui/table/simple-list';
import { useUrlState } from '../../ui/table/use-url-state';
import { RotateKey } from './rotate-key';

const getApiKeys = (page: ApiKeyList) => page.apiKeys;

export function ApiKeys() {
  const [{ q }] = useUrlState();
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<CreatedApiKey | null>(null);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const [rotating, setRotating] = useState<ApiKey | null>(null);
  const [scope, setScope] = useState<ApiKey['scope']>('api');
  const client = useQueryClient();
  const refreshKeys = () => client.invalidateQueries({ queryKey: ['api-keys'] });
  const list = useList({
    queryKey: ['api-keys', q],
    fetchPage: (page, signal) => apiKeysList({ query: { ...page, q }, signal }),
    itemsOf: getApiKeys,
  });
  const closeDialog = () => {
    setMaking(false);
    setMade(null);
  };
  const renderMenu = (key: ApiKey) => (
    <ActionMenu
      name={key.name}
      actions={[
        { label: 'Rotate', run: () => setRotating(key) },
        { label: 'Revoke', danger: true, run: () => setRevoking(key) },
      ]}
    />
  );
  return (
    <>
      <SimpleList
        title="API keys"
        actions={
          <Button look="primary" onClick={() => setMaking(true)}>
            New API key
          </Button>
        }
        list={list}
        search="Search API keys"
        empty="No API keys yet. Use “New API key” to create one for a program or a machine."
        heads={['Name', 'Scope', 'Allowed addresses', 'Created', 'Last used', 'Expires', 'Actions']}
        row={(key) => (
          <tr key={key.id}>
            <td>
              <bdi>{key.name}</bdi>
            </td>
            <td>{formatScope(key)}</td>
            <td>{key.ipAllow.length > 0 ? key.ipAllow.join(', ') : 'any'}</td>
            <td>
              <Time at={key.createdAt} relative />
            </td>
            <td>
              <Time at={key.lastUsedAt} relative />
              {key.lastUsedFrom && ` from ${key.lastUsedFrom}`}
            </td>
            <td>
              <Time at={key.expiresAt} relative />
            </td>
            <td>{renderMenu(key)}</td>
          </tr>
        )}
        cardRow={(key) => (
          <CardRow
            key={key.id}
            title={<bdi>{key.name}</bdi>}
            facts={[
              formatScope(key),
              key.expiresAt && (
                <>
                  expires <Time at={key.expiresAt} relative />
                </>
              ),
              key.lastUsedAt === null ? (
                'never used'
              ) : (
                <>
                  last used <Time at={key.lastUsedAt} relative />
                  {key.lastUsedFrom && ` from ${key.lastUsedFrom}`}
                </>
              ),
              key.ipAllow.length > 0 && `only from ${key.ipAllow.join(', ')}`,
            ]}
            actions={renderMenu(key)}
          />
        )}
      />
      <Dialog open={isMaking} onOpenChange={closeDialog} title="New API key" keeps={made !== null}>
        {made ? (
          <div className="flex flex-col gap-4">
            <p>This key is shown only once. Copy it now.</p>
            <CopyText label={made.name} text={made.secret} />
            <DialogActions>
              <Button look="primary" onClick={closeDialog}>
                Done
              </Button>
            </DialogActions>
          </div>
        ) : (
          <Form
            submit="Create key"
            onSubmit={(values) => {
              const agentId = values.readText('agentId') || null;
              const expires = values.readText('expiresAt');
              const expiresAt = expires ? new Date(`${expires}T23:59:59`).toISOString() : null;
              const role = scope === 'api' ? (values.readText('role') as ApiKey['role']) : undefined;
              const ipAllow = values
                .readText('ipAllow')
                .split(/[\s,]+/)
                .filter(Boolean);
              return apiKeysCreate({
                body: { name: values.readText('name'), scope, agentId, expiresAt, role, ipAllow },
              });
            }}
            onDone={(created) => {
              setMade(created);
              void refreshKeys();
            }}
          >
            <TextField label="Name" name="name" required maxLength={200} autoComplete="off" />
            <SelectField
              label="Scope"
              name="scope"
              value={scope}
              onChange={({ target }) => setScope(target.value as ApiKey['scope'])}
              options={[
                { value: 'api', label: 'api: programs that use the API' },
                { value: 'worker', label: 'worker: machines' },
              ]}
            />
            {scope === 'api' && (
              <SelectField
                label="Role"
                name="role"
                defaultValue="member"
                options={[
                  { value: 'member', label: 'member: reads, runs and changes' },
                  { value: 'viewer', label: 'viewer: reads' },
                ]}
              />
            )}
            <TextField
              label="Allowed addresses"
              name="ipAllow"
              autoComplete="off"
              hint="IP addresses or ranges such as 203.0.113.0/24, separated by commas. Empty: any address."
            />
            {scope === 'worker' && <AgentField label="Limit to agent" name="agentId" none="any" />}
            <TextField
              label="Expires"
              name="expiresAt"
              type="date"
              hint="Last day on which the key works. If empty, the latest day that the organization allows, or no end."
            />
          </Form>
        )}
      </Dialog>
      {rotating && <RotateKey old={rotating} close={() => setRotating(null)} />}
      {revoking && (
        <ConfirmDialog
          open
          onOpenChange={() => setRevoking(null)}
          title={`Revoke ${revoking.name}?`}
          verb="Revoke"
          act={async () => {
            await apiKeysRevoke({ path: { id: revoking.id } });
            await refreshKeys();
            showToast(`${revoking.name} was revoked.`);
          }}
        >
          Requests with this key are rejected from now on. This cannot be undone.
        </ConfirmDialog>
      )}
    </>
  );
}

function formatScope({ scope, role }: ApiKey): string {
  return scope === 'api' ? `api, ${role}` : scope;
}
