import { permissionLabels } from '@muster/contracts/words';
import { type CreateOwnRoleBody, type OwnRole, rolesCreate, rolesUpdate } from '../../../api/generated';
import { useCurrentUser } from '../../../api/session';
import { Dialog } from '../../../ui/dialog';
import { Form, TextField } from '../../../ui/form';
import { showToast } from '../../../ui/toast';

type Permission = keyof typeof permissionLabels;

const all = Object.keys(permissionLabels) as Permission[];
const groups = [...new Set(all.map((permission) => permissionLabels[permission].group))];

interface RoleDialogProps {
  /** The role to change; empty for a new role. A built-in role is shown without controls to change it. */
  role: Partial<OwnRole>;
  onClose: () => void;
  onSaved: () => void;
}

/** Creates a role, changes its permissions, or shows them. */
export function RoleDialog({ role, onClose, onSaved }: RoleDialogProps) {
  const { name, builtIn, permissions = [] } = role;
  if (builtIn) {
    return (
      <Dialog open wide onOpenChange={onClose} title={`Permissions of ${name}`}>
        <PermissionChoice chosen={permissions} readOnly />
      </Dialog>
    );
  }
  return (
    <Dialog open wide onOpenChange={onClose} title={name === undefined ? 'New role' : `Change the role ${name}`}>
      <Form
        submit={name === undefined ? 'Create role' : 'Save'}
        onSubmit={(values) => {
          const body = { permissions: values.readAll('permissions') as CreateOwnRoleBody['permissions'] };
          return name === undefined
            ? rolesCreate({ body: { ...body, name: values.readText('name') } })
            : rolesUpdate({ path: { name }, body });
        }}
        onDone={(saved) => {
          showToast(`The role ${saved.name} was saved.`);
          onSaved();
        }}
      >
        {name === undefined && (
          <TextField
            label="Name"
            name="name"
            required
            maxLength={50}
            autoComplete="off"
            hint="Letters, digits, spaces, dots, dashes and underscores, for example Front desk."
          />
        )}
        <PermissionChoice chosen={permissions} />
      </Form>
    </Dialog>
  );
}

/** The permissions in groups. Users can give only permissions that they have themselves. */
function PermissionChoice({ chosen, readOnly = false }: { chosen: readonly string[]; readOnly?: boolean }) {
  const { permissions } = useCurrentUser().user;
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      {groups.map((group) => (
        <fieldset key={group} className="flex flex-col gap-1.5">
          <legend className="mb-1 font-medium">{group}</legend>
          {all
            .filter((permission) => permissionLabels[permission].group === group)
            .map((permission) => (
              <label key={permission} className="flex items-start gap-2">
                <input
                  type="checkbox"
                  name="permissions"
                  value={permission}
                  defaultChecked={chosen.includes(permission)}
                  disabled={readOnly || !permissions.includes(permission)}
                  className="mt-0.5 size-4 shrink-0"
                />
                <span>
                  {permissionLabels[permission].label}
                  <code className="ml-1.5 font-mono text-xs text-dim">{permission}</code>
                </span>
              </label>
            ))}
        </fieldset>
      ))}
    </div>
  );
}
