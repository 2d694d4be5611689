import { useState } from 'react';
import { type Invitation, invitationsCreate } from '../../api/generated';
import { useAssignableRoles } from './use-assignable-roles';
import { CopyText } from '../../ui/copy-text';
import { Dialog } from '../../ui/dialog';
import { Form, SelectField, TextField } from '../../ui/form';

const once = 'It works once, for seven days, and is not shown again.';

/** Invites a person by e-mail, and then shows the link once. */
export function InviteUser({ onClose }: { onClose: () => void }) {
  const [invitation, setInvitation] = useState<Invitation | null>(null);
  const roles = useAssignableRoles();
  if (invitation) {
    return (
      <Dialog
        open
        keeps
        onOpenChange={onClose}
        title={`Invitation for ${invitation.email}`}
        description={
          invitation.sendsMail
            ? `A mail with this link is on its way. ${once}`
            : `This service sends no mail. Send this link to the person in a secure way. ${once}`
        }
      >
        <CopyText label="Invitation link" text={invitation.link} />
      </Dialog>
    );
  }
  return (
    <Dialog open onOpenChange={onClose} title="Invite user">
      <Form
        submit="Invite"
        onSubmit={(values) =>
          invitationsCreate({
            body: { email: values.readText('email'), role: values.readText('role') },
          })
        }
        onDone={setInvitation}
      >
        <TextField label="Email" name="email" type="email" required autoComplete="off" />
        <SelectField
          label="Role"
          name="role"
          options={roles}
          key={roles.join()}
          defaultValue={roles.includes('member') ? 'member' : roles[0]}
        />
      </Form>
    </Dialog>
  );
}
