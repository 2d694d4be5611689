import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { meQuery } from '../../api/session';
import { SignInForm } from '../../parts/sign-in/sign-in-form';
import type { UrlState } from '../../ui/table/use-url-state';

export function LoginPage() {
  const { from, sso }: UrlState = useSearch({ strict: false });
  const navigate = useNavigate();
  const client = useQueryClient();
  const page = useRef<HTMLElement>(null);
  useEffect(() => {
    document.title = 'Sign in · Muster';
    page.current?.querySelector('input')?.focus();
  }, []);
  return (
    <main ref={page} className="flex min-h-dvh items-center justify-center p-4">
      <div className="flex w-full max-w-sm flex-col gap-4 rounded-panel border border-line bg-surface p-6">
        <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" className="size-9" />
        <h1>Sign in to Muster</h1>
        {sso && (
          <p role="alert" className="rounded-control border border-bad/40 bg-bad-soft p-3">
            {failures[sso] ?? failures['unauthenticated']}
          </p>
        )}
        <SignInForm
          onDone={(me) => {
            client.clear();
            client.setQueryData(meQuery.queryKey, me);
            void navigate({ href: isOwnPath(from) ? from : '/app', reloadDocument: false });
          }}
        />
        <Link to="/forgot" className="self-start text-sm">
          Forgot your password?
        </Link>
      </div>
    </main>
  );
}

/** Messages about a failed single sign-on, by the error code with which the service sends the browser back. */
const failures: Record<string, string> = {
  unauthenticated: 'Single sign-on did not succeed. Try again. If it fails again, ask an admin of your organization.',
  not_found: 'Single sign-on is not set up for this email domain.',
  rate_limited: 'Too many attempts. Wait a minute, then try again.',
};

/** Whether the path is a console page. Prevents a crafted link from redirecting to another site after the sign-in. */
function isOwnPath(from: string | undefined): from is string {
  return from !== undefined && /^\/(?![/\\])/.test(from) && !from.startsWith('/login');
}
