import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Building2 } from 'lucide-react';
import { authOrganization } from '../api/generated';
import { meQuery, useCurrentUser } from '../api/session';
import { Button } from '../ui/button';
import { showToast, showErrorToast } from '../ui/toast';

/** Returns a function that switches to an organization, or with null back to the user's own, and clears the cache. */
export function useSwitchOrganization(): (
  organizationId: string | null,
  to?: '/' | '/settings',
  part?: string,
) => Promise<void> {
  const client = useQueryClient();
  const navigate = useNavigate();
  return async (organizationId, to = '/', part) => {
    try {
      const me = await authOrganization({ body: { organizationId } });
      await client.cancelQueries();
      // Navigates first: pages that are still mounted would request resources of the other organization again.
      client.setQueryData(meQuery.queryKey, me);
      await navigate({ to, search: part ? { part } : {} });
      const isOrganizationQuery = ({ queryKey }: { queryKey: readonly unknown[] }) =>
        queryKey[0] !== meQuery.queryKey[0];
      client.removeQueries({ type: 'inactive', predicate: isOrganizationQuery });
      await client.resetQueries({ predicate: isOrganizationQuery });
      showToast(`You are now working in ${me.organization.name}.`);
    } catch (error) {
      showErrorToast(error);
    }
  };
}

/** Notes on every page that the user works in another organization, with a button that switches back. */
export function OverrideNote() {
  const { organization, ownOrganizationId } = useCurrentUser();
  const switchTo = useSwitchOrganization();
  if (!ownOrganizationId) return null;
  return (
    <div
      role="note"
      aria-label="Another organization"
      className="sticky top-0 z-20 flex flex-wrap items-center gap-2 bg-warn-soft px-4 py-1.5 text-warn"
    >
      <Building2 aria-hidden className="size-4" />
      <span className="grow">
        You are working in <bdi className="font-semibold">{organization.name}</bdi>, which is not your own organization.
        Everything that you do here changes it.
      </span>
      <Button onClick={() => void switchTo(null)}>Back to my organization</Button>
    </div>
  );
}
