import { useMay } from '../../api/session';
import { Empty, Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { Backfill } from './backfill';
import { FeedbackExport } from './feedback-export';
import { FeedbackSync } from './feedback-sync';
import { Maintenance } from './maintenance';
import { DefaultPrices } from './default-prices';
import { Organizations } from './organizations';
import { Pricing } from './pricing';
import { Counters } from './counters';

const parts = [
  { name: 'Organizations', superAdmin: true, content: <Organizations /> },
  { name: 'Pricing', superAdmin: false, content: <Pricing /> },
  { name: 'Backfill', superAdmin: false, content: <Backfill /> },
  { name: 'Feedback export', superAdmin: true, content: <FeedbackExport /> },
  { name: 'Feedback sync', superAdmin: true, content: <FeedbackSync /> },
  { name: 'Default prices', superAdmin: true, content: <DefaultPrices /> },
  { name: 'Usage', superAdmin: true, content: <Counters /> },
  { name: 'Maintenance', superAdmin: true, content: <Maintenance /> },
];

/** Administration across organizations, and the pricing of an organization's runs. */
export function AdminPage() {
  const isAdmin = useMay('admin');
  const isSuperAdmin = useMay('super_admin');
  if (!isAdmin) {
    return (
      <Page title="Admin">
        <Empty title="This page is for admins.">An admin can give you this role under Settings, Users.</Empty>
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
