import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  adminUsageUsage,
  type Organization,
  type OrganizationList,
  organizationsCreate,
  organizationsList,
  organizationsUpdate,
} from '../../api/generated';
import { useCurrentUser } from '../../api/session';
import { useList } from '../../api/use-list';
import { formatCount, formatMoney } from '../../format/format';
import { Time } from '../../format/time';
import { useSwitchOrganization } from '../../frame/override';
import { Button } from '../../ui/button';
import { ConfirmDialog, Dialog } from '../../ui/dialog';
import { Form, TextField } from '../../ui/form';
import { ActionMenu } from '../../ui/menu';
import { StatusMark } from '../../ui/status-mark';
import { SimpleList } from '../../ui/table/simple-list';
import { useUrlState } from '../../ui/table/use-url-state';
import { showToast, showErrorToast } from '../../ui/toast';
import { PricingModel } from './pricing-model';

const getOrganizations = (page: OrganizationList) => page.organizations;
type ChosenAction = { what: 'rename' | 'suspend' | 'pricing'; organization: Organization };

/** All organizations of the deployment. */
export function Organizations() {
  const [{ q }] = useUrlState();
  const [isMaking, setMaking] = useState(false);
  const [chosen, setChosen] = useState<ChosenAction | null>(null);
  const { organization: current } = useCurrentUser();
  const switchTo = useSwitchOrganization();
  const client = useQueryClient();
  const refreshOrganizations = () => client.invalidateQueries({ queryKey: ['organizations'] });
  const list = useList({
    queryKey: ['organizations', q],
    fetchPage: (page, signal) => organizationsList({ query: { ...page, q }, signal }),
    itemsOf: getOrganizations,
  });
  const { data: month } = useQuery({
    queryKey: ['admin-usage', 'month'],
    queryFn: ({ signal }) => adminUsageUsage({ query: { limit: 200 }, signal }),
  });
  const used = new Map(month?.usage.map((usage) => [usage.organizationId, usage]));
  const resumeOrganization = async ({ id, name }: Organization) => {
    try {
      await organizationsUpdate({ path: { id }, body: { suspended: false } });
      showToast(`${name} can launch runs again.`);
    } catch (error) {
      showErrorToast(error);
    }
    await refreshOrganizations();
  };
  const closeDialog = () => setChosen(null);
  return (
    <>
      <SimpleList
        title="Organizations"
        actions={
          <Button look="primary" onClick={() => setMaking(true)}>
            New organization
          </Button>
        }
        list={list}
        search="Search organizations"
        empty="No organizations match the search."
        heads={['Name', 'Status', 'Runs this month', 'Spend', 'Created', 'Actions']}
        row={(organization) => (
          <tr key={organization.id}>
            <td>
              <bdi title={organization.id}>{organization.name}</bdi>
              {organization.id === current.id && <span className="text-dim"> (current)</span>}
            </td>
            <td>
              <StatusMark status={organization.suspended ? 'suspended' : 'active'} />
            </td>
            <td className="tabular-nums">{formatCount(used.get(organization.id)?.runs ?? 0)}</td>
            <td className="tabular-nums">{formatMoney(used.get(organization.id)?.spendUsd ?? 0)}</td>
            <td>
              <Time at={organization.createdAt} relative />
            </td>
            <td>
              <ActionMenu
                name={organization.name}
                actions={[
                  organization.id !== current.id && {
                    label: 'Switch to',
                    run: () => void switchTo(organization.id),
                  },
                  { label: 'Limits', run: () => void switchTo(organization.id, '/settings', 'Limits') },
                  { label: 'Pricing model', run: () => setChosen({ what: 'pricing', organization }) },
                  { label: 'Rename', run: () => setChosen({ what: 'rename', organization }) },
                  organization.suspended
                    ? { label: 'Resume', run: () => void resumeOrganization(organization) }
                    : { label: 'Suspend', danger: true, run: () => setChosen({ what: 'suspend', organization }) },
                ]}
              />
            </td>
          </tr>
        )}
      />
      <NewOrganization open={isMaking} onOpenChange={setMaking} done={refreshOrganizations} />
      {chosen?.what === 'rename' && (
        <RenameOrganization organization={chosen.organization} close={closeDialog} done={refreshOrganizations} />
      )}
      {chosen?.what === 'suspend' && (
        <SuspendOrganization organization={chosen.organization} close={closeDialog} done={refreshOrganizations} />
      )}
      {chosen?.what === 'pricing' && (
        <Dialog open onOpenChange={closeDialog} title={`Pricing model of ${chosen.organization.name}`}>
          <PricingModel organizationId={chosen.organization.id} done={closeDialog} />
        </Dialog>
      )}
    </>
  );
}

interface NewOrganizationProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  done: () => Promise<void>;
}

function NewOrganization({ open, onOpenChange, done }: NewOrganizationProps) {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="New organization">
      <Form
        submit="Create organization"
        onSubmit={(values) =>
          organizationsCreate({
            body: {
              name: values.readText('name'),
              adminEmail: values.readText('adminEmail'),
              adminPassword: values.readExactText('adminPassword'),
            },
          })
        }
        onDone={({ organization, admin }) => {
          onOpenChange(false);
          void done();
          showToast(`${organization.name} is created. Its admin is ${admin.email}.`);
        }}
      >
        <TextField label="Name" name="name" required maxLength={200} autoComplete="off" />
        <TextField label="Admin email" name="adminEmail" type="email" required autoComplete="off" />
        <TextField
          label="Admin password"
          name="adminPassword"
          type="password"
          required
          minLength={12}
          autoComplete="new-password"
          hint="At least 12 characters, and not a common password. Send it to the admin over a secure channel."
        />
      </Form>
    </Dialog>
  );
}

interface DeedProps {
  organization: Organization;
  close: () => void;
  done: () => Promise<void>;
}

function RenameOrganization({ organization: { id, name }, close, done }: DeedProps) {
  return (
    <Dialog open onOpenChange={close} title={`Rename ${name}`}>
      <Form
        submit="Save"
        onSubmit={(values) => organizationsUpdate({ path: { id }, body: { name: values.readText('name') } })}
        onDone={() => {
          close();
          void done();
          showToast('Saved.');
        }}
      >
        <TextField label="Name" name="name" required maxLength={200} defaultValue={name} />
      </Form>
    </Dialog>
  );
}

function SuspendOrganization({ organization: { id, name }, close, done }: DeedProps) {
  return (
    <ConfirmDialog
      open
      onOpenChange={close}
      title={`Suspend ${name}?`}
      verb="Suspend"
      act={async () => {
        await organizationsUpdate({ path: { id }, body: { suspended: true } });
        await done();
        showToast(`${name} is suspended.`);
      }}
    >
      The users of the organization can still read everything but cannot start anything new. Its schedules skip their
      runs. Runs in progress continue and can be cancelled. You can resume the organization at any time.
    </ConfirmDialog>
  );
}
