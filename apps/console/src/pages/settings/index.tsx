import { useMay } from '../../api/session';
import { Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { ApiKeys } from './api-keys';
import { Audit } from './audit';
import { Limits } from './limits';
import { Model } from './model';
import { OrganizationPart } from './organization';
import { Prices } from './prices';
import { Users } from './users';
import { Vault } from './vault';
import { Webhooks } from './webhooks/webhooks';

const parts = [
  { name: 'Organization', admin: false, content: <OrganizationPart /> },
  { name: 'Limits', admin: false, content: <Limits /> },
  { name: 'Users', admin: false, content: <Users /> },
  { name: 'API keys', admin: true, content: <ApiKeys /> },
  { name: 'Vault', admin: true, content: <Vault /> },
  { name: 'Model', admin: true, content: <Model /> },
  { name: 'Prices', admin: false, content: <Prices /> },
  { name: 'Webhooks', admin: true, content: <Webhooks /> },
  { name: 'Audit', admin: true, content: <Audit /> },
];

export function SettingsPage() {
  const isAdmin = useMay('admin');
  return (
    <Page title="Settings">
      <Tabs
        label="Parts of the settings"
        parameter="part"
        beside
        tabs={parts.filter(({ admin }) => isAdmin || !admin)}
      />
    </Page>
  );
}
