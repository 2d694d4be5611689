import type { ReactNode } from 'react';
import { type Identity, secondFactorBeginAtLogin, secondFactorConfirmAtLogin } from '../../api/generated';
import { Enrol } from './enrol';

interface RequiredProps {
  ticket: string;
  actions: ReactNode;
  onDone: (me: Identity) => void;
}

/** The set-up during a sign-in, for who has no second factor where the organization requires one. */
export function RequiredEnrolment({ ticket, actions, onDone }: RequiredProps) {
  return (
    <Enrol
      actions={actions}
      begin={() => secondFactorBeginAtLogin({ body: { ticket } })}
      confirm={(code) => secondFactorConfirmAtLogin({ body: { ticket, code } })}
      onDone={({ user, organization }) => onDone({ user, organization })}
    >
      <p>Your organization requires a second factor: an app on your telephone that shows a code.</p>
    </Enrol>
  );
}
