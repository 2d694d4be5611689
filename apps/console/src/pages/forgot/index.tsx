import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { forgottenPasswordsForgot } from '../../api/generated';
import { SignedOutCard } from '../../parts/sign-in/signed-out-card';
import { Form, TextField } from '../../ui/form';

/** Page on which a person who has forgotten the password asks for a link. */
export function ForgotPage() {
  const [sendsMail, setSendsMail] = useState<boolean | null>(null);
  return (
    <SignedOutCard title="Forgot your password?">
      {sendsMail === null ? (
        <Form
          submit="Send a link"
          onSubmit={(values) => forgottenPasswordsForgot({ body: { email: values.readText('email') } })}
          onDone={(answer) => setSendsMail(answer.sendsMail)}
        >
          <TextField label="Email" name="email" type="email" autoComplete="username" required />
        </Form>
      ) : (
        <p role="status">
          {sendsMail
            ? 'If an account with this address exists, a mail with a link is on its way. The link works once, for a short time.'
            : 'This service sends no mail. Ask an admin of your organization to set a new password for you.'}
        </p>
      )}
      <Link to="/login" className="self-start text-sm">
        Sign in
      </Link>
    </SignedOutCard>
  );
}
