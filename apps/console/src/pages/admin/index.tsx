import { useHasRole } from '../../api/session';
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
  { name: 'Organizations', superAdmin: true, content: <Organizations /> },
  { name: 'Pricing', superAdmin: false, content: <Pricing /> },
  { name: 'Backfill', superAdmin: false, content: <MetricsBackfill /> },
  { name: 'Feedback export', superAdmin: true, content: <FeedbackExport /> },
  { name: 'Feedback sync', superAdmin: true, content: <FeedbackSync /> },
  { name: 'Default prices', superAdmin: true, content: <DefaultPrices /> },
  { name: 'Usage', superAdmin: true, content: <UsageCounters /> },
  { name: 'Maintenance', superAdmin: true, content: <MaintenanceLoops /> },
];

/** Administration across organizations, and the pricing of an organization's runs. */
export function AdminPage() {
  const isAdmin = useHasRole('admin');
  const isSuperAdmin = useHasRole('super_admin');
  if (!isAdmin) {
    return (
      <Page title="Admin">
        <EmptyNote title="You need the role admin for this page.">
          Ask an admin to give you the role under Settings, Users.
        </EmptyNote>
      </Page>
    );
  }
  return (
    <Page title="Admin">
      <Tabs
        label="Administration"
        parameter="part"
        beside
        tabs={parts.filter(({ superAdmin }) => isSuperAdmin || !superAdmin)}
      />
    </Page>
  );
}
