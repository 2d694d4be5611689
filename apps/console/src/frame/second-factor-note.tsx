import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ShieldAlert } from 'lucide-react';
import { useState } from 'react';
import { ownFactorQuery } from '../api/session';
import { Button } from '../ui/button';

/** Asks an admin without a second factor to set one up, if others can reach the service. */
export function SecondFactorNote() {
  const [isLater, setLater] = useState(false);
  const { data } = useQuery(ownFactorQuery);
  if (!data || data.since || data.passkeys > 0 || isLater) return null;
  return (
    <div
      role="note"
      aria-label="Second factor"
      className="flex flex-wrap items-center gap-2 bg-warn-soft px-4 py-1.5 text-warn"
    >
      <ShieldAlert aria-hidden className="size-4" />
      <span className="grow">Your admin account is protected by a password only.</span>
      <Link to="/settings" search={{ part: 'Security' }} className="underline">
        Set up a second factor
      </Link>
      <Button look="quiet" onClick={() => setLater(true)}>
        Later
      </Button>
    </div>
  );
}
