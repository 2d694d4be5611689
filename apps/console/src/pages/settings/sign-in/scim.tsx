import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { scimTokenCreate, scimTokenDelete, scimTokenRead } from '../../../api/generated';
import { Time } from '../../../format/time';
import { Button } from '../../../ui/button';
import { CopyText } from '../../../ui/copy-text';
import { ConfirmDialog } from '../../../ui/dialog';
import { ErrorNote } from '../../../ui/error-note';
import { Panel, Skeleton } from '../../../ui/page';
import { showToast } from '../../../ui/toast';

const key = ['scim'];

/** The token with which the identity provider creates, changes and disables users. */
export function ScimSettings() {
  const [change, setChange] = useState<'replace' | 'remove' | null>(null);
  const [token, setToken] = useState<string | null>(null);
  const client = useQueryClient();
  const { data, error, refetch } = useQuery({ queryKey: key, queryFn: ({ signal }) => scimTokenRead({ signal }) });
  if (data === undefined)
    return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={3} />;
  const createToken = async () => {
    const made = await scimTokenCreate();
    setToken(made.token);
    await client.invalidateQueries({ queryKey: key });
  };
  return (
    <Panel
      title="User provisioning"
      actions={
        data.token && (
          <Button look="danger" onClick={() => setChange('remove')}>
            Remove token
          </Button>
        )
      }
    >
      <p className="mb-3 text-dim">
        Your identity provider can create, change and disable your users with SCIM 2.0. A group with the name of a role
        gives this role to its members; the roles by value of the claim, above, apply to groups too.
      </p>
      <div className="flex flex-col items-start gap-3">
        <CopyText label="Base address to enter at the provider" text={data.baseUrl} />
        {token && (
          <>
            <CopyText label="SCIM token" text={token} />
            <p className="text-xs text-warn">The token is shown only once. Copy it to the provider now.</p>
          </>
        )}
        <p className="text-dim">
          {data.token ? (
            <>
              The token was created <Time at={data.token.createdAt} relative />
              {data.token.lastUsedAt ? (
                <>
                  {' and last used '}
                  <Time at={data.token.lastUsedAt} relative />.
                </>
              ) : (
                ' and has not been used yet.'
              )}
            </>
          ) : (
            'There is no token, so no provider can change users.'
          )}
        </p>
        <Button onClick={() => setChange('replace')}>{data.token ? 'Replace the token' : 'Create a token'}</Button>
      </div>
      <ConfirmDialog
        open={change === 'replace'}
        onOpenChange={() => setChange(null)}
        title={data.token ? 'Replace the token?' : 'Create a token?'}
        verb={data.token ? 'Replace' : 'Create'}
        act={createToken}
      >
        {data.token && 'The present token ends at once. '}A provider with the token can make users admins.
      </ConfirmDialog>
      <ConfirmDialog
        open={change === 'remove'}
        onOpenChange={() => setChange(null)}
        title="Remove the token?"
        verb="Remove"
        act={async () => {
          await scimTokenDelete();
          setToken(null);
          await client.invalidateQueries({ queryKey: key });
          showToast('The token was removed.');
        }}
      >
        The provider can no longer change users. The users and their roles stay.
      </ConfirmDialog>
    </Panel>
  );
}
