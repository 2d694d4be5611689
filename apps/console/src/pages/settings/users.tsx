import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type User,
  usersDisable,
  type UserList,
  usersList,
  usersResetSecondFactor,
  usersUpdate,
} from '../../api/generated';
import { usePermission, useCurrentUser } from '../../api/session';
import { useList } from '../../api/use-list';
import { Time } from '../../format/time';
import { InviteUser } from '../../parts/sign-in/invite-user';
import { useAssignableRoles } from '../../parts/sign-in/use-assignable-roles';
import { Button } from '../../ui/button';
import { ConfirmDialog, Dialog } from '../../ui/dialog';
import { Form, TextField } from '../../ui/form';
import { ActionMenu } from '../../ui/menu';
import { showToast, showErrorToast } from '../../ui/toast';
import { CardRow } from '../../ui/table/card';
import { SimpleList } from '../../ui/table/simple-list';
import { useUrlState } from '../../ui/table/use-url-state';

const getUsers = (page: UserList) => page.users;

export function Users() {
  const [{ q }] = useUrlState();
  const [isInviting, setInviting] = useState(false);
  const [leaving, setLeaving] = useState<User | null>(null);
  const [losing, setLosing] = useState<User | null>(null);
  const [renewing, setRenewing] = useState<User | null>(null);
  const mayChange = usePermission('users.admin');
  const assignable = useAssignableRoles();
  const me = useCurrentUser();
  const client = useQueryClient();
  const refreshUsers = () => client.invalidateQueries({ queryKey: ['users'] });
  const list = useList({
    queryKey: ['users', q],
    fetchPage: (page, signal) => usersList({ query: { ...page, q }, signal }),
    itemsOf: getUsers,
  });
  const changeUser = async (
    { id, email }: User,
    body: { role?: string; disabled?: boolean; breakGlass?: boolean },
    what: string,
  ) => {
    try {
      await usersUpdate({ path: { id }, body });
      showToast(`${email} ${what}.`);
    } catch (error) {
      showErrorToast(error);
    }
    await refreshUsers();
  };
  const renderMenu = (user: User) => (
    <ActionMenu
      name={user.email}
      actions={[
        ...assignable
          // Users cannot change their own role.
          .filter((role) => role !== user.role && user.role !== 'super_admin' && user.id !== me.user.id)
          .map((role) => ({
            label: `Make ${role}`,
            run: () => void changeUser(user, { role }, `is ${role} now`),
          })),
        user.role === 'admin' &&
          (user.breakGlass
            ? {
                label: 'Remove emergency access',
                run: () => void changeUser(user, { breakGlass: false }, 'has no emergency access any more'),
              }
            : {
                label: 'Give emergency access',
                run: () => void changeUser(user, { breakGlass: true }, 'has the emergency access now'),
              }),
        { label: 'New password', run: () => setRenewing(user) },
        user.id !== me.user.id &&
          user.secondFactorSince !== null && {
            label: 'Reset second factor',
            danger: true,
            run: () => setLosing(user),
          },
        user.id !== me.user.id &&
          (user.disabled
            ? {
                label: 'Enable',
                run: () => void changeUser(user, { disabled: false }, 'can sign in again'),
              }
            : { label: 'Disable', danger: true, run: () => setLeaving(user) }),
      ]}
    />
  );
  return (
    <>
      <SimpleList
        title="Users"
        actions={
          mayChange && (
            <Button look="primary" onClick={() => setInviting(true)}>
              Invite user
            </Button>
          )
        }
        list={list}
        search="Search users"
        empty="No users. Use “Invite user” to add one."
        heads={['Email', 'Role', 'Second factor', 'Last signed in', ...(mayChange ? ['Actions'] : [])]}
        row={(user) => (
          <tr key={user.id}>
            <td>
              <bdi>{user.email}</bdi>
            </td>
            <td>{formatRole(user)}</td>
            <td>{user.secondFactorSince ? 'yes' : 'no'}</td>
            <td>
              <Time at={user.lastSignInAt} relative />
            </td>
            {mayChange && <td>{renderMenu(user)}</td>}
          </tr>
        )}
        cardRow={(user) => (
          <CardRow
            key={user.id}
            title={<bdi>{user.email}</bdi>}
            facts={[
              formatRole(user),
              user.secondFactorSince ? 'second factor' : 'no second factor',
              user.lastSignInAt === null ? (
                'never signed in'
              ) : (
                <>
                  last signed in <Time at={user.lastSignInAt} relative />
                </>
              ),
            ]}
            actions={mayChange ? renderMenu(user) : undefined}
          />
        )}
      />
      {isInviting && <InviteUser onClose={() => setInviting(false)} />}
      {renewing && (
        <Dialog
          open
          onOpenChange={() => setRenewing(null)}
          title={`New password for ${renewing.email}`}
          description="All sessions of this user end."
        >
          <Form
            submit="Set password"
            onSubmit={(values) =>
              usersUpdate({ path: { id: renewing.id }, body: { password: values.readExactText('password') } })
            }
            onDone={() => {
              setRenewing(null);
              showToast(`${renewing.email} has a new password.`);
            }}
          >
            <PasswordField />
          </Form>
        </Dialog>
      )}
      {losing && (
        <ConfirmDialog
          open
          onOpenChange={() => setLosing(null)}
          title={`Reset the second factor of ${losing.email}?`}
          verb="Reset"
          act={async () => {
            await usersResetSecondFactor({ path: { id: losing.id } });
            await refreshUsers();
            showToast(`The second factor of ${losing.email} was reset.`);
          }}
        >
          The codes and passkeys of this user are removed, and all sessions of this user end. This cannot be undone.
          First make sure that the request comes from this user.
        </ConfirmDialog>
      )}
      {leaving && (
        <ConfirmDialog
          open
          onOpenChange={() => setLeaving(null)}
          title={`Disable ${leaving.email}?`}
          verb="Disable"
          act={async () => {
            await usersDisable({ path: { id: leaving.id } });
            await refreshUsers();
            showToast(`${leaving.email} can no longer sign in.`);
          }}
        >
          All sessions of this user end at once. The audit log keeps the actions of this user. You can enable the user
          again.
        </ConfirmDialog>
      )}
    </>
  );
}

function formatRole({ disabled, role, breakGlass }: User): string {
  return `${disabled ? 'disabled' : role}${breakGlass ? ' (emergency access)' : ''}`;
}

function PasswordField() {
  return (
    <TextField
      label="Password"
      name="password"
      type="password"
      required
      minLength={12}
      autoComplete="new-password"
      hint="At least 12 characters and not a common password. Send it to the user in a secure way."
    />
  );
}
