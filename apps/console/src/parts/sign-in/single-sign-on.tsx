import { useState } from 'react';
import { authMe, type Identity } from '../../api/generated';
import { Form, TextField } from '../../ui/form';

interface Props {
  /** Opens the provider in another tab, so that the page below keeps what was typed. */
  inNewTab: boolean;
  back: React.ReactNode;
  onDone: (me: Identity) => void;
}

/** Asks for the email address, whose domain selects the identity provider, and sends the browser there. */
export function SingleSignOn({ inNewTab, back, onDone }: Props) {
  const [isAway, setAway] = useState(false);
  if (isAway) {
    return (
      <Form submit="Continue" actions={back} onSubmit={() => authMe()} onDone={onDone}>
        <p>Sign in on the page that was opened. Then continue here.</p>
      </Form>
    );
  }
  return (
    <Form
      submit="Continue"
      actions={back}
      onSubmit={(values) => {
        // The browser navigates to this address instead of requesting it, because the provider is another site.
        const address = `/api/auth/sso/start?${new URLSearchParams({ email: values.readText('email') }).toString()}`;
        if (inNewTab) window.open(address, '_blank', 'noopener');
        else location.assign(address);
        return Promise.resolve();
      }}
      onDone={() => setAway(inNewTab)}
    >
      <TextField label="Email" name="email" type="email" autoComplete="username" required />
    </Form>
  );
}
