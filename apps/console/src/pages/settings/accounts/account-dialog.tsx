import { type Account, accountsPut } from '../../../api/generated';
import { Dialog } from '../../../ui/dialog';
import { Form, TextField, type Values } from '../../../ui/form';
import { showToast } from '../../../ui/toast';

/** Creates an account, or replaces one. */
export function AccountDialog({
  account,
  onClose,
  onSaved,
}: {
  account: Partial<Account>;
  onClose: () => void;
  onSaved: () => void;
}) {
  const { name, pool, vaultKeys = {}, limit = 1, cooldownSeconds = 0, enabled = true } = account;
  const secrets = Object.entries(vaultKeys).map(([secret, key]) => `${secret}=${key}`);
  return (
    <Dialog open onOpenChange={onClose} title={name === undefined ? 'New account' : `Edit ${name}`}>
      <Form
        submit="Save"
        onSubmit={(values) =>
          accountsPut({
            path: { name: values.readText('name') },
            body: {
              pool: values.readText('pool'),
              vaultKeys: readVaultKeys(values),
              limit: values.readNumber('limit') ?? 1,
              cooldownSeconds: values.readNumber('cooldownSeconds') ?? 0,
              enabled,
            },
          })
        }
        onDone={(saved) => {
          showToast(`${saved.name} was saved.`);
          onSaved();
        }}
      >
        <TextField
          label="Name"
          name="name"
          required
          maxLength={100}
          defaultValue={name}
          readOnly={name !== undefined}
          autoComplete="off"
        />
        <TextField label="Pool" name="pool" required maxLength={100} defaultValue={pool} autoComplete="off" />
        <TextField
          label="Secrets"
          name="vaultKeys"
          required
          defaultValue={secrets.join(', ')}
          placeholder="username=DD_USER_1, password=DD_PASS_1"
          hint="Names that scripts use, each with the name of a vault secret, separated by commas."
          autoComplete="off"
        />
        <TextField
          label="Limit"
          name="limit"
          type="number"
          required
          min={1}
          max={1000}
          defaultValue={limit}
          hint="Maximum number of runs that use the account at the same time."
        />
        <TextField
          label="Rest after a run"
          name="cooldownSeconds"
          type="number"
          required
          min={0}
          max={86400}
          defaultValue={cooldownSeconds}
          hint="In seconds."
        />
      </Form>
    </Dialog>
  );
}

/** Reads `username=DD_USER_1, password=DD_PASS_1`. The service refuses a part without a vault key. */
function readVaultKeys(values: Values): Record<string, string> {
  const parts = values
    .readText('vaultKeys')
    .split(/[\s,]+/)
    .filter(Boolean);
  return Object.fromEntries(
    parts.map((part) => {
      const at = part.indexOf('=');
      return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
    }),
  );
}
