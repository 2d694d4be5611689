import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type UrlState = Record<string, string | undefined>;

/** What a page shows is in its address, by the names of the API's parameters: it can be sent, kept and gone back to. */
export function useUrlState(): [state: UrlState, change: (patch: UrlState) => void] {
  const state: UrlState = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback(
    (patch: UrlState) => {
      const search = (before: UrlState) => withoutEmpty({ ...before, ...patch });
      void navigate({ to: '.', search, replace: true, resetScroll: false });
    },
    [navigate],
  );
  return [state, change];
}

function withoutEmpty(state: UrlState): UrlState {
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined && value !== ''));
}
