import { Link } from '@tanstack/react-router';
import { lazy } from 'react';
import { useHasRole } from '../../api/session';
import { Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { ApiKeys } from './api-keys';
import { UsageLimits } from './limits';
import { ModelSettings } from './model';
import { OrganizationPart } from './organization';
import { SignIn } from './sign-in';
import { Vault } from './vault';

const Accounts = lazy(async () => ({ default: (await import('./accounts/accounts')).Accounts }));
const AuditLog = lazy(async () => ({ default: (await import('./audit')).AuditLog }));
const ModelPrices = lazy(async () => ({ default: (await import('./prices')).ModelPrices }));
const Alerts = lazy(async () => ({ default: (await import('./alerts/alerts')).Alerts }));
const Channels = lazy(async () => ({ default: (await import('./channels/channels')).Channels }));
const Concurrency = lazy(async () => ({ default: (await import('./concurrency')).Concurrency }));
const Users = lazy(async () => ({ default: (await import('./users')).Users }));
const Webhooks = lazy(async () => ({ default: (await import('./webhooks/webhooks')).Webhooks }));
const Security = lazy(async () => ({ default: (await import('./security/security')).Security }));

const parts = [
  { name: 'Organization', admin: false, content: <OrganizationPart /> },
  { name: 'Limits', admin: false, content: <UsageLimits /> },
  { name: 'Concurrency', admin: false, content: <Concurrency /> },
  { name: 'Accounts', admin: false, content: <Accounts /> },
  { name: 'Security', admin: false, content: <Security /> },
  { name: 'Sign-in', admin: false, content: <SignIn /> },
  { name: 'Users', admin: false, content: <Users /> },
  { name: 'API keys', admin: true, content: <ApiKeys /> },
  { name: 'Vault', admin: true, content: <Vault /> },
  { name: 'Model', admin: true, content: <ModelSettings /> },
  { name: 'Prices', admin: false, content: <ModelPrices /> },
  { name: 'Alerts', admin: true, content: <Alerts /> },
  { name: 'Channels', admin: true, content: <Channels /> },
  { name: 'Webhooks', admin: true, content: <Webhooks /> },
  { name: 'Audit', admin: true, content: <AuditLog /> },
];

export function SettingsPage() {
  const isAdmin = useHasRole('admin');
  return (
    <Page
      title="Settings"
      actions={
        <Link to="/safeguards" className="text-accent hover:underline">
          Safeguards
        </Link>
      }
    >
      <Tabs
        label="Parts of the settings"
        parameter="part"
        beside
        tabs={parts.filter(({ admin }) => isAdmin || !admin)}
      />
    </Page>
  );
}
