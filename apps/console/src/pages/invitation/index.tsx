import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { invitationsAccept } from '../../api/generated';
import { SetPasswordForm } from '../../parts/sign-in/set-password-form';
import { SignedOutCard } from '../../parts/sign-in/signed-out-card';

/** Page that the link in an invitation opens. */
export function InvitationPage() {
  const [email, setEmail] = useState<string | null>(null);
  return (
    <SignedOutCard title="Welcome to Muster">
      {email === null ? (
        <SetPasswordForm
          submit="Create account"
          set={(body) => invitationsAccept({ body })}
          onDone={(accepted) => setEmail(accepted.email)}
        />
      ) : (
        <p role="status">
          Your account is ready. Sign in as <bdi>{email}</bdi>.
        </p>
      )}
      <Link to="/login" className="self-start text-sm">
        Sign in
      </Link>
    </SignedOutCard>
  );
}
