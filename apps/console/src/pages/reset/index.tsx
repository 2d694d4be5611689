import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { forgottenPasswordsReset } from '../../api/generated';
import { SetPasswordForm } from '../../parts/sign-in/set-password-form';
import { SignedOutCard } from '../../parts/sign-in/signed-out-card';

/** Page that a mailed link opens, to replace a forgotten password. */
export function ResetPage() {
  const [isDone, setDone] = useState(false);
  return (
    <SignedOutCard title="Set a new password">
      {isDone ? (
        <p role="status">Your new password is set, and all your sessions have ended.</p>
      ) : (
        <SetPasswordForm
          submit="Set password"
          set={(body) => forgottenPasswordsReset({ body })}
          onDone={() => setDone(true)}
        />
      )}
      <Link to="/login" className="self-start text-sm">
        Sign in
      </Link>
    </SignedOutCard>
  );
}
