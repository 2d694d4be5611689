import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import { hasRole, type Role } from '@muster/contracts/words';
import { authMe, type Identity, organizationSettings, secondFactorRead } from './generated';
import { withEtag } from './versioned';

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => authMe({ signal }),
  staleTime: 5 * 60_000,
});

export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: ({ signal }) => withEtag((options) => organizationSettings({ signal, ...options })),
  staleTime: 60_000,
});

export const ownFactorQuery = queryOptions({
  queryKey: ['own-factor'],
  queryFn: ({ signal }) => secondFactorRead({ signal }),
});

/** Who is signed in; every page below the frame has been let in only when that is known. */
export function useMe(): Identity {
  return useSuspenseQuery(meQuery).data;
}

/** Whether something is offered; the API says it again. */
export function useMay(role: Role): boolean {
  return hasRole(useMe().user.role, role);
}
