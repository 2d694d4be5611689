import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { isApiError } from '../../../api/api-error';
import {
  organizationSsoDelete,
  organizationSsoProve,
  organizationSsoPut,
  organizationSsoRead,
  organizationSsoTest,
  type Sso,
  type SsoDomain,
  type SsoTest,
} from '../../../api/generated';
import { Time } from '../../../format/time';
import { RowsField } from '../../../parts/guards/rows-field';
import { useAssignableRoles } from '../../../parts/sign-in/use-assignable-roles';
import { Button } from '../../../ui/button';
import { CopyText } from '../../../ui/copy-text';
import { ConfirmDialog } from '../../../ui/dialog';
import { ErrorNote } from '../../../ui/error-note';
import { CheckField, Form, SelectField, TextAreaField, TextField, type Values } from '../../../ui/form';
import { Panel, Skeleton } from '../../../ui/page';
import { showErrorToast, showToast } from '../../../ui/toast';

const key = ['sso'];

/** The identity provider with which the users of the organization sign in. */
export function SsoSettings() {
  const { data, error, refetch } = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => {
      try {
        return await organizationSsoRead({ signal });
      } catch (refused) {
        if (isApiError(refused, 'not_found')) return null;
        throw refused;
      }
    },
  });
  if (data === undefined)
    return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={5} />;
  return (
    <>
      <ProviderForm key={data ? 'set' : 'none'} sso={data} />
      {data && <Domains domains={data.domainProofs} />}
    </>
  );
}

function ProviderForm({ sso }: { sso: Sso | null }) {
  const [isRemoving, setRemoving] = useState(false);
  const client = useQueryClient();
  const roles = useAssignableRoles();
  return (
    <Panel
      title="Single sign-on"
      actions={
        sso && (
          <Button look="danger" onClick={() => setRemoving(true)}>
            Remove
          </Button>
        )
      }
    >
      <p className="mb-3 text-dim">
        Your users sign in with your identity provider, such as Okta, Microsoft Entra or Google, by OpenID Connect.
        Accounts are created at the first sign-in.
      </p>
      {sso && <CopyText label="Redirect address to register at the provider" text={sso.redirectUri} />}
      <Form
        submit="Save"
        onSubmit={(values) => organizationSsoPut({ body: readSettings(values) })}
        onDone={(saved) => {
          client.setQueryData(key, saved);
          showToast('Saved.');
        }}
      >
        <TextField
          label="Issuer"
          name="issuer"
          type="url"
          required
          defaultValue={sso?.issuer}
          hint="The address of the provider before /.well-known/openid-configuration, such as https://acme.okta.com."
        />
        <TextField label="Client ID" name="clientId" required maxLength={500} defaultValue={sso?.clientId} />
        <TextField
          label="Client secret"
          name="clientSecret"
          type="password"
          autoComplete="off"
          required={!sso}
          maxLength={2000}
          hint={sso ? 'Empty: the stored secret stays. It is never shown.' : 'The secret is stored encrypted.'}
        />
        <TextAreaField
          label="Email domains"
          name="domains"
          rows={2}
          defaultValue={sso?.domains.join('\n')}
          hint="One domain in each line, such as acme.com. A domain takes effect when it is proved."
        />
        <TextField
          label="Claim with the role"
          name="roleClaim"
          maxLength={200}
          defaultValue={sso?.roleClaim ?? ''}
          hint="Such as groups. With a claim, the role is set at each sign-in; users without a known value become viewers. Empty: new users become viewers, and you change roles here."
        />
        <RowsField
          legend="Roles by value of the claim"
          noun="value"
          maxRows={100}
          initial={Object.entries(sso?.roleMap ?? {}).map(([value, role]) => ({ value, role }))}
          hint="The role with the most permissions counts. Without values, the claim must contain names of roles."
          fieldsOf={({ value, role }, at) => (
            <>
              <TextField label={`Value ${at + 1}`} name="roleValue" required defaultValue={value} />
              <SelectField
                label={`Role ${at + 1}`}
                name="role"
                options={[...new Set([...roles, role ?? 'member'])]}
                defaultValue={role ?? 'member'}
              />
            </>
          )}
        />
        <TextField
          label="Required authentication contexts (acr)"
          name="requiredAcr"
          maxLength={2000}
          defaultValue={sso?.requiredAcr.join(' ')}
          hint="Separated by spaces, such as urn:okta:loa:2fa:any. The provider must confirm one of them. Empty: any is sufficient."
        />
        <TextField
          label="Required authentication methods (amr)"
          name="requiredAmr"
          maxLength={2000}
          defaultValue={sso?.requiredAmr.join(' ')}
          hint="Separated by spaces, such as mfa. The provider must confirm all of them."
        />
        <TextField
          label="Maximum age of the sign-in at the provider, in minutes"
          name="maxAge"
          type="number"
          min={0}
          max={525600}
          step="any"
          defaultValue={typeof sso?.maxAgeSeconds === 'number' ? String(sso.maxAgeSeconds / 60) : ''}
          hint="A user who signed in there longer ago must do so again. Empty: any age is accepted."
        />
        <CheckField label="Require single sign-on for these domains" name="enforced" initial={sso?.enforced ?? false} />
        <p className="text-xs text-warn">
          If required, passwords and passkeys of these domains are rejected. First test the provider and sign in with it
          once. Give one admin with a second factor the emergency access under Users, so that you are not locked out
          when the provider fails.
        </p>
      </Form>
      {sso && <ProviderTest />}
      <ConfirmDialog
        open={isRemoving}
        onOpenChange={setRemoving}
        title="Remove single sign-on?"
        verb="Remove"
        act={async () => {
          await organizationSsoDelete();
          client.setQueryData(key, null);
          showToast('Single sign-on was removed.');
        }}
      >
        Users sign in with passwords and passkeys again. A user who has never had a password sets one with “Forgot your
        password?”.
      </ConfirmDialog>
    </Panel>
  );
}

function readSettings(values: Values) {
  const roles = values.readAll('role');
  const map = Object.fromEntries(values.readAll('roleValue').map((value, at) => [value, roles[at]!]));
  const secret = values.readExactText('clientSecret');
  return {
    issuer: values.readText('issuer'),
    clientId: values.readText('clientId'),
    ...(secret ? { clientSecret: secret } : {}),
    domains: splitWords(values.readText('domains')),
    roleClaim: values.readText('roleClaim') || null,
    roleMap: roles.length > 0 ? map : null,
    enforced: values.readFlag('enforced'),
    requiredAcr: splitWords(values.readText('requiredAcr')),
    requiredAmr: splitWords(values.readText('requiredAmr')),
    maxAgeSeconds: values.readText('maxAge') === '' ? null : Math.round(Number(values.readText('maxAge')) * 60),
  };
}

function splitWords(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

function ProviderTest() {
  const [isBusy, setBusy] = useState(false);
  const [result, setResult] = useState<SsoTest | null>(null);
  const testSettings = async () => {
    setBusy(true);
    try {
      setResult(await organizationSsoTest());
    } catch (error) {
      showErrorToast(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="mt-4 flex flex-col items-start gap-2">
      <Button busy={isBusy} onClick={() => void testSettings()}>
        Test the saved provider
      </Button>
      <p role="status" className={result?.ok === false ? 'text-bad' : 'text-good'}>
        {result?.message}
      </p>
    </div>
  );
}

function Domains({ domains }: { domains: SsoDomain[] }) {
  const client = useQueryClient();
  const proveDomain = async ({ domain }: SsoDomain) => {
    try {
      await organizationSsoProve({ body: { domain } });
      showToast(`${domain} is proved.`);
      await client.invalidateQueries({ queryKey: key });
    } catch (error) {
      showErrorToast(error);
    }
  };
  if (domains.length === 0) return null;
  return (
    <Panel title="Email domains">
      <p className="mb-3 text-dim">
        Add the TXT record to the DNS of each domain, then check it. You can remove the record afterwards.
      </p>
      <ul className="flex flex-col gap-4">
        {domains.map((each) => (
          <li key={each.domain} className="flex flex-col gap-2">
            <div className="flex flex-wrap items-center gap-3">
              <span className="font-medium">{each.domain}</span>
              {each.provedAt ? (
                <span className="text-good">
                  proved <Time at={each.provedAt} relative />
                  {each.provedBy === 'super_admin' && ' by the operator'}
                </span>
              ) : (
                <>
                  <span className="text-warn">not proved</span>
                  <Button onClick={() => void proveDomain(each)}>Check the record of {each.domain}</Button>
                </>
              )}
            </div>
            {!each.provedAt && (
              <>
                <CopyText label={`Name of the TXT record of ${each.domain}`} text={each.recordName} />
                <CopyText label={`Value of the TXT record of ${each.domain}`} text={each.recordValue} />
              </>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
