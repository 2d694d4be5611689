import { useState } from 'react';
import { authChangePassword } from '../../../api/generated';
import { Button } from '../../../ui/button';
import { Dialog } from '../../../ui/dialog';
import { Form, TextField } from '../../../ui/form';
import { Panel } from '../../../ui/page';
import { showToast } from '../../../ui/toast';

/** Changes the user's own password. */
export function Password() {
  const [isOpen, setOpen] = useState(false);
  return (
    <Panel title="Password" actions={<Button onClick={() => setOpen(true)}>Change password</Button>}>
      <p className="text-dim">Changing your password ends your other sessions.</p>
      <Dialog open={isOpen} onOpenChange={setOpen} title="Change your password">
        <Form
          submit="Change"
          onSubmit={(values) =>
            authChangePassword({
              body: {
                oldPassword: values.readExactText('oldPassword'),
                newPassword: values.readExactText('newPassword'),
              },
            })
          }
          onDone={() => {
            setOpen(false);
            showToast('Your password was changed, and your other sessions ended.');
          }}
        >
          <TextField label="Old password" name="oldPassword" type="password" autoComplete="current-password" required />
          <TextField
            label="New password"
            name="newPassword"
            type="password"
            autoComplete="new-password"
            required
            minLength={12}
            maxLength={128}
            hint="At least 12 characters and not a common password."
          />
        </Form>
      </Dialog>
    </Panel>
  );
}
