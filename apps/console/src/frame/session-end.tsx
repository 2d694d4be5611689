import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { authLogout, authMe, authSessions, type Session } from '../api/generated';
import { meQuery, useCurrentUser } from '../api/session';
import { reportSessionEnd, reportSignedIn, useSessionEnded } from '../api/session-end';
import { SignInForm } from '../parts/sign-in/sign-in-form';
import { Button } from '../ui/button';
import { useSurfaces } from '../ui/overlay/use-surfaces';

/** Warns before the session ends, ends an idle session, and shows the sign-in over the page, which stays mounted. */
export function SessionEnd() {
  const hasEnded = useSessionEnded();
  return hasEnded ? <SignInAgain /> : <EndWarning />;
}

/** Sign-in that covers the whole page. The page keeps what was typed, so that the same user can continue. */
function SignInAgain() {
  const client = useQueryClient();
  const before = useCurrentUser();
  const [hasFailed, setFailed] = useState(false);
  const surfaces = useSurfaces(true, () => setFailed(true));
  // Covers the page until the surface is loaded, because the next person at this computer must not see it.
  if (!surfaces) {
    return (
      <div className="fixed inset-0 z-50 flex items-center justify-center bg-page">
        {hasFailed && <Button onClick={() => location.reload()}>Reload and sign in</Button>}
      </div>
    );
  }
  return (
    <surfaces.CoverSurface title="Your session has ended">
      <p className="text-dim">Sign in again to continue on this page. What you typed is still there.</p>
      <SignInForm
        overPage
        onDone={(me) => {
          const isSame = me.user.id === before.user.id && me.organization.id === before.organization.id;
          // A different user must not see the page of the previous one.
          if (!isSame) return location.assign(import.meta.env.BASE_URL);
          client.setQueryData(meQuery.queryKey, me);
          reportSignedIn();
          void client.invalidateQueries();
        }}
      />
    </surfaces.CoverSurface>
  );
}

const warningMs = 60_000;
const keepEveryMs = 60_000;

function EndWarning() {
  const { user } = useCurrentUser();
  const { data: session } = useQuery({
    queryKey: ['own-session', user.id],
    queryFn: async ({ signal }) =>
      (await authSessions({ query: { limit: 200 }, signal })).sessions.find(isCurrentSession),
    staleTime: Infinity,
  });
  const [endsAt, setEndsAt] = useState<number | null>(null);
  // Activity is measured from the opening of the page and not from the arrival of the session data, which may be late
  // or fetched again.
  const timesRef = useRef({ usedAt: 0, keptAt: 0 });
  useEffect(() => {
    timesRef.current = { usedAt: Date.now(), keptAt: Date.now() };
  }, []);
  useEffect(() => {
    if (!session) return;
    const times = timesRef.current;
    // All tabs of a browser share one session, and each tab notifies the others of activity.
    const tabs = new BroadcastChannel(`muster use ${session.id}`);
    const recordUse = () => {
      if (Date.now() - times.usedAt < 500) return;
      times.usedAt = Date.now();
      tabs.postMessage(times.usedAt);
    };
    tabs.onmessage = ({ data }: MessageEvent<number>) => void (times.usedAt = Math.max(times.usedAt, data));
    const checkSessionEnd = () => {
      const now = Date.now();
      const end = Math.min(times.usedAt + session.idleMinutes * 60_000, Date.parse(session.expiresAt));
      if (end <= now) {
        // The session is idle: sign out, so that the next person at this computer does not see the page.
        void authLogout().catch(() => undefined);
        return reportSessionEnd();
      }
      setEndsAt(end - now <= warningMs ? end : null);
      // Typing sends no requests, so this request keeps the session from becoming idle.
      if (times.usedAt > times.keptAt && now - times.keptAt > keepEveryMs) {
        times.keptAt = now;
        void authMe().catch(() => undefined);
      }
    };
    const timer = setInterval(checkSessionEnd, 1000);
    for (const event of signsOfUse) addEventListener(event, recordUse, { passive: true, capture: true });
    return () => {
      clearInterval(timer);
      tabs.close();
      for (const event of signsOfUse) removeEventListener(event, recordUse, { capture: true });
    };
  }, [session]);
  if (endsAt === null) return null;
  const isIdle = session !== undefined && endsAt < Date.parse(session.expiresAt);
  return (
    <div role="alert" className="sticky top-0 z-30 flex items-center gap-2 bg-warn-soft px-4 py-2 text-warn">
      <span className="grow">
        {isIdle
          ? 'You are signed out in less than a minute because of inactivity.'
          : 'Your session ends in less than a minute. You can then sign in again without losing what you typed.'}
      </span>
      {isIdle && <Button look="quiet">Stay signed in</Button>}
    </div>
  );
}

const signsOfUse = ['pointerdown', 'keydown', 'wheel', 'touchstart'] as const;

function isCurrentSession({ current }: Session): boolean {
  return current;
}
