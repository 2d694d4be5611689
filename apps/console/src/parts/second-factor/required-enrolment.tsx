import type { ReactNode } from 'react';
import { type Identity, secondFactorBeginAtLogin, secondFactorConfirmAtLogin } from '../../api/generated';
import { EnrolAuthenticator } from './enrol';

interface RequiredProps {
  ticket: string;
  actions: ReactNode;
  onDone: (me: Identity) => void;
}

/** Setup during a sign-in, for users without a second factor who must have one. */
export function RequiredEnrolment({ ticket, actions, onDone }: RequiredProps) {
  return (
    <EnrolAuthenticator
      actions={actions}
      begin={() => secondFactorBeginAtLogin({ body: { ticket } })}
      confirm={(code) => secondFactorConfirmAtLogin({ body: { ticket, code } })}
      onDone={({ user, organization }) => onDone({ user, organization })}
    >
      <p>Your account requires a second factor: an app on your phone that shows codes.</p>
    </EnrolAuthenticator>
  );
}
