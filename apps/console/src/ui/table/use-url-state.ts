import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type UrlState = Record<string, string | undefined>;

interface ChangeOptions {
  /** It is being typed: what is typed on is no further step back. */
  isTyped?: boolean;
}
export type ChangeUrl = (patch: UrlState, options?: ChangeOptions) => void;

/** What a page shows is in its address, by the names of the API's parameters: it can be sent, kept and gone back to. */
export function useUrlState(): [state: UrlState, change: ChangeUrl] {
  const state: UrlState = useSearch({ strict: false });
  const navigate = useNavigate();
  const router = useRouter();
  const change = useCallback(
    (patch: UrlState, { isTyped = false }: ChangeOptions = {}) => {
      const search = (before: UrlState) => withoutEmpty({ ...before, ...patch });
      const now: UrlState = router.state.location.search;
      const replace = isTyped && Object.entries(patch).every(([name, value]) => now[name] && value);
      void navigate({ to: '.', search, replace, resetScroll: false });
    },
    [navigate, router],
  );
  return [state, change];
}

function withoutEmpty(state: UrlState): UrlState {
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined && value !== ''));
}
