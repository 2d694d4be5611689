import { useState } from 'react';
import { Form, TextField } from '../../ui/form';

interface Props<A> {
  submit: string;
  set: (body: { token: string; password: string }) => Promise<A>;
  onDone: (answer: A) => void;
}

/** Asks for a new password and sends it with the token of the link, which is in the fragment of the address. */
export function SetPasswordForm<A>({ submit, set, onDone }: Props<A>) {
  const [token] = useState(() => new URLSearchParams(location.hash.slice(1)).get('token') ?? '');
  if (token === '') return <p>This link is incomplete. Open it again from the mail.</p>;
  return (
    <Form
      submit={submit}
      onSubmit={(values) => set({ token, password: values.readExactText('password') })}
      onDone={onDone}
    >
      <TextField
        label="New password"
        name="password"
        type="password"
        required
        minLength={12}
        autoComplete="new-password"
        maxLength={128}
        hint="At least 12 characters and not a common password."
      />
    </Form>
  );
}
