import { lazy, Suspense, useState } from 'react';
import { authLogin, type Identity, passkeysSignIn, secondFactorLogin, type SignInNeeds } from '../../api/generated';
import { Button } from '../../ui/button';
import { Form, TextField } from '../../ui/form';
import { Skeleton } from '../../ui/page';
import { PasskeyButton } from '../second-factor/passkey-button';
import { SecondFactorCodeField, readProof } from '../second-factor/proof-field';
import { SingleSignOn } from './single-sign-on';

const RequiredEnrolment = lazy(async () => ({
  default: (await import('../second-factor/required-enrolment')).RequiredEnrolment,
}));

interface Props {
  onDone: (me: Identity) => void;
  /** Whether the form lies over a page that must stay open. */
  overPage?: boolean;
}

/** The sign-in form, on the sign-in page and over a page whose session has ended. */
export function SignInForm({ onDone, overPage = false }: Props) {
  const [next, setNext] = useState<SignInNeeds | 'sso' | null>(null);
  const again = <Button onClick={() => setNext(null)}>Back</Button>;
  if (next === 'sso') return <SingleSignOn inNewTab={overPage} back={again} onDone={onDone} />;
  const byPasskey = (
    <PasskeyButton
      act={async (response) => onDone(await passkeysSignIn({ body: { response } }))}
      label="Use a passkey"
    />
  );
  if (next?.needs === 'enrolment') {
    return (
      <Suspense fallback={<Skeleton rows={3} />}>
        <RequiredEnrolment ticket={next.ticket} actions={again} onDone={onDone} />
      </Suspense>
    );
  }
  if (next?.needs === 'passkey') {
    return (
      <>
        <p>Your account requires a passkey in addition to the password. You can also sign in with the passkey alone.</p>
        {byPasskey}
        {again}
      </>
    );
  }
  if (next) {
    return (
      <Form
        key="code"
        submit="Sign in"
        actions={again}
        onSubmit={(values) => secondFactorLogin({ body: { ticket: next.ticket, ...readProof(values) } })}
        onDone={onDone}
      >
        <SecondFactorCodeField />
      </Form>
    );
  }
  return (
    <>
      <Form
        key="password"
        submit="Sign in"
        onSubmit={(values) =>
          authLogin({ body: { email: values.readText('email'), password: values.readExactText('password') } })
        }
        onDone={(answer) => ('needs' in answer ? setNext(answer) : onDone(answer))}
      >
        <TextField label="Email" name="email" type="email" autoComplete="username" required />
        <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
      </Form>
      {byPasskey}
      <Button onClick={() => setNext('sso')}>Continue with single sign-on</Button>
    </>
  );
}
