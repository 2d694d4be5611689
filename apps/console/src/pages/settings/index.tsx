import { Link } from '@tanstack/react-router';
import { lazy } from 'react';
import { useCurrentUser } from '../../api/session';
import { Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { ApiKeys } from './api-keys';
import { UsageLimits } from './limits';
import { ModelSettings } from './model';
import { OrganizationPart } from './organization';
import { SignIn } from './sign-in/sign-in';
import { Vault } from './vault';

const Accounts = lazy(async () => ({ default: (await import('./accounts/accounts')).Accounts }));
const AuditLog = lazy(async () => ({ default: (await import('./audit')).AuditLog }));
const ModelPrices = lazy(async () => ({ default: (await import('./prices')).ModelPrices }));
const Alerts = lazy(async () => ({ default: (await import('./alerts/alerts')).Alerts }));
const Channels = lazy(async () => ({ default: (await import('./channels/channels')).Channels }));
const Concurrency = lazy(async () => ({ default: (await import('./concurrency')).Concurrency }));
const Roles = lazy(async () => ({ default: (await import('./roles/roles')).Roles }));
const Users = lazy(async () => ({ default: (await import('./users')).Users }));
const Webhooks = lazy(async () => ({ default: (await import('./webhooks/webhooks')).Webhooks }));
const Security = lazy(async () => ({ default: (await import('./security/security')).Security }));

const parts = [
  { name: 'Organization', needs: null, content: <OrganizationPart /> },
  { name: 'Limits', needs: 'costs.read', content: <UsageLimits /> },
  { name: 'Concurrency', needs: 'runs.read', content: <Concurrency /> },
  { name: 'Accounts', needs: 'runs.read', content: <Accounts /> },
  { name: 'Security', needs: null, content: <Security /> },
  { name: 'Sign-in', needs: null, content: <SignIn /> },
  { name: 'Users', needs: null, content: <Users /> },
  { name: 'Roles', needs: 'users.admin', content: <Roles /> },
  { name: 'API keys', needs: 'keys.admin', content: <ApiKeys /> },
  { name: 'Vault', needs: 'vault.write', content: <Vault /> },
  { name: 'Model', needs: 'settings.admin', content: <ModelSettings /> },
  { name: 'Prices', needs: 'costs.read', content: <ModelPrices /> },
  { name: 'Alerts', needs: 'settings.admin', content: <Alerts /> },
  { name: 'Channels', needs: 'webhooks.admin', content: <Channels /> },
  { name: 'Webhooks', needs: 'webhooks.admin', content: <Webhooks /> },
  { name: 'Audit', needs: 'audit.read', content: <AuditLog /> },
] as const;

export function SettingsPage() {
  const { permissions } = useCurrentUser().user;
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
        tabs={parts.filter(({ needs }) => needs === null || permissions.includes(needs))}
      />
    </Page>
  );
}
