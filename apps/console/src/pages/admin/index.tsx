import { useCurrentUser } from '../../api/session';
import { EmptyNote, Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { MetricsBackfill } from './backfill';
import { FeedbackExport } from './feedback-export';
import { FeedbackSync } from './feedback-sync';
import { MaintenanceLoops } from './maintenance';
import { DefaultPrices } from './default-prices';
import { Organizations } from './organizations';
import { Pricing } from './pricing';
import { UsageCounters } from './counters';

const parts = [
  { name: 'Organizations', needs: 'platform.admin', content: <Organizations /> },
  { name: 'Pricing', needs: 'pricing.write', content: <Pricing /> },
  { name: 'Backfill', needs: 'pricing.write', content: <MetricsBackfill /> },
  { name: 'Feedback export', needs: 'platform.admin', content: <FeedbackExport /> },
  { name: 'Feedback sync', needs: 'platform.admin', content: <FeedbackSync /> },
  { name: 'Default prices', needs: 'platform.admin', content: <DefaultPrices /> },
  { name: 'Usage', needs: 'platform.admin', content: <UsageCounters /> },
  { name: 'Maintenance', needs: 'platform.admin', content: <MaintenanceLoops /> },
] as const;

/** Administration across organizations, and the pricing of an organization's runs. */
export function AdminPage() {
  const { permissions } = useCurrentUser().user;
  const shown = parts.filter(({ needs }) => permissions.includes(needs));
  if (shown.length === 0) {
    return (
      <Page title="Admin">
        <EmptyNote title="This page is for admins.">
          An admin can give you another role under Settings, Users.
        </EmptyNote>
      </Page>
    );
  }
  return (
    <Page title="Admin">
      <Tabs label="Administration" parameter="part" beside tabs={shown} />
    </Page>
  );
}
