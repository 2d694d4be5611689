import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type OwnRole, rolesDelete } from '../../../api/generated';
import { rolesQuery } from '../../../api/queries';
import { useCurrentUser } from '../../../api/session';
import { formatCountWithNoun } from '../../../format/format';
import { Button } from '../../../ui/button';
import { ConfirmDialog } from '../../../ui/dialog';
import { ErrorNote } from '../../../ui/error-note';
import { ActionMenu } from '../../../ui/menu';
import { Panel, Skeleton } from '../../../ui/page';
import { PlainTable } from '../../../ui/table/plain-table';
import { showToast } from '../../../ui/toast';
import { RoleDialog } from './role-dialog';

/** The four roles and the organization's own roles, with the number of users who have each. */
export function Roles() {
  const { data, error, refetch } = useQuery(rolesQuery);
  const [editing, setEditing] = useState<Partial<OwnRole> | null>(null);
  const [leaving, setLeaving] = useState<string | null>(null);
  const { permissions } = useCurrentUser().user;
  const client = useQueryClient();
  const refreshRoles = () => client.invalidateQueries({ queryKey: ['roles'] });
  const canChangeRole = (role: OwnRole) =>
    !role.builtIn && role.permissions.every((each) => permissions.includes(each));
  return (
    <>
      <Panel
        title="Roles"
        actions={
          <Button look="primary" onClick={() => setEditing({})}>
            New role
          </Button>
        }
      >
        {!data && (error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={4} />)}
        {data && (
          <PlainTable label="Roles" heads={['Name', 'Permissions', 'Users', 'Actions']}>
            {data.map((role) => (
              <tr key={role.name}>
                <td>
                  <bdi>{role.name}</bdi>
                  {role.builtIn && <span className="text-xs whitespace-nowrap text-dim"> built-in</span>}
                </td>
                <td>{formatCountWithNoun(role.permissions.length, 'permission')}</td>
                <td>{role.users}</td>
                <td>
                  <ActionMenu
                    name={role.name}
                    actions={[
                      { label: 'Show permissions', run: () => setEditing({ ...role, builtIn: true }) },
                      canChangeRole(role) && { label: 'Change permissions', run: () => setEditing(role) },
                      canChangeRole(role) && {
                        label: 'Delete',
                        danger: true,
                        run: () => setLeaving(role.name),
                      },
                    ]}
                  />
                </td>
              </tr>
            ))}
          </PlainTable>
        )}
      </Panel>
      {editing && (
        <RoleDialog
          role={editing}
          onClose={() => setEditing(null)}
          onSaved={() => {
            setEditing(null);
            void refreshRoles();
          }}
        />
      )}
      {leaving && (
        <ConfirmDialog
          open
          onOpenChange={() => setLeaving(null)}
          title={`Delete the role ${leaving}?`}
          verb="Delete"
          act={async () => {
            await rolesDelete({ path: { name: leaving } });
            await refreshRoles();
            showToast(`The role ${leaving} was deleted.`);
          }}
        >
          Users with this role need another role first. Open invitations to this role are deleted.
        </ConfirmDialog>
      )}
    </>
  );
}
