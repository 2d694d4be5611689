import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import type { Permission } from '@muster/contracts/words';
import { authMe, type Identity, organizationSettings, secondFactorRead } from './generated';
import { readWithEtag } from './versioned';

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => authMe({ signal }),
  staleTime: 5 * 60_000,
});

export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: ({ signal }) => readWithEtag((options) => organizationSettings({ signal, ...options })),
  staleTime: 60_000,
});

export const ownFactorQuery = queryOptions({
  queryKey: ['own-factor'],
  queryFn: ({ signal }) => secondFactorRead({ signal }),
});

/** The signed-in user and organization. The route of the frame loads them before it renders a page. */
export function useCurrentUser(): Identity {
  return useSuspenseQuery(meQuery).data;
}

/** Whether the user has this permission, to decide which controls to show. The API checks the permission again. */
export function usePermission(permission: Permission): boolean {
  return useCurrentUser().user.permissions.includes(permission);
}
