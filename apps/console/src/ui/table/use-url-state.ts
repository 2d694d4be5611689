import { useNavigate, useRouter, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type UrlState = Record<string, string | undefined>;

interface ChangeOptions {
  /** Whether the change comes from typing; continued typing then adds no further history entries. */
  isTyped?: boolean;
}
export type ChangeUrl = (patch: UrlState, options?: ChangeOptions) => void;

/** State of a page in its address, with the API's parameter names, so that a view can be shared and bookmarked. */
export function useUrlState(): [state: UrlState, change: ChangeUrl] {
  const state: UrlState = useSearch({ strict: false });
  const navigate = useNavigate();
  const router = useRouter();
  const change = useCallback(
    (patch: UrlState, { isTyped = false }: ChangeOptions = {}) => {
      const mergeSearch = (before: UrlState) => removeEmpty({ ...before, ...patch });
      const now: UrlState = router.state.location.search;
      const replace = isTyped && Object.entries(patch).every(([name, value]) => now[name] && value);
      void navigate({ to: '.', search: mergeSearch, replace, resetScroll: false });
    },
    [navigate, router],
  );
  return [state, change];
}

function removeEmpty(state: UrlState): UrlState {
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined && value !== ''));
}
