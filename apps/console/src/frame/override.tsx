import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Building2 } from 'lucide-react';
import { authOrganization } from '../api/generated';
import { meQuery, useMe } from '../api/session';
import { Button } from '../ui/button';
import { toast, toastRefused } from '../ui/toast';

/** Looks at another organization, or at the own one again: everything that was shown until then is forgotten. */
export function useSwitch(): (organizationId: string | null, to?: '/' | '/settings', part?: string) => Promise<void> {
  const client = useQueryClient();
  const navigate = useNavigate();
  return async (organizationId, to = '/', part) => {
    try {
      const me = await authOrganization({ body: { organizationId } });
      await client.cancelQueries();
      // Pages that are still shown would ask again for things of the other organization.
      client.setQueryData(meQuery.queryKey, me);
      await navigate({ to, search: part ? { part } : {} });
      const isOfOrganization = ({ queryKey }: { queryKey: readonly unknown[] }) => queryKey[0] !== meQuery.queryKey[0];
      client.removeQueries({ type: 'inactive', predicate: isOfOrganization });
      await client.resetQueries({ predicate: isOfOrganization });
      toast(`This is ${me.organization.name} now.`);
    } catch (error) {
      toastRefused(error);
    }
  };
}

/** Says on every page that it is another organization that one sees, and leads back. */
export function OverrideNote() {
  const { organization, ownOrganizationId } = useMe();
  const switchTo = useSwitch();
  if (!ownOrganizationId) return null;
  return (
    <div
      role="note"
      aria-label="Another organization"
      className="sticky top-0 z-20 flex flex-wrap items-center gap-2 bg-warn-soft px-4 py-1.5 text-warn"
    >
      <Building2 aria-hidden className="size-4" />
      <span className="grow">
        You see <bdi className="font-semibold">{organization.name}</bdi>, which is not your own organization. What you
        do here is done there.
      </span>
      <Button onClick={() => void switchTo(null)}>Back to my organization</Button>
    </div>
  );
}
