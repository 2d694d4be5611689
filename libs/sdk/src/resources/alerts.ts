import {
  type Alert,
  type AlertList,
  alertRulesList,
  alertRulesSet,
  alertsAcknowledge,
  alertsList,
  type AlertsListData,
  type SetAlertRuleBody,
} from '../generated';
import { List } from '../list';
import { type CallOptions, Resource } from '../resource';

/** Alerts, and the rules that open them. */
export class Alerts extends Resource {
  /** Lists alerts, newest first. */
  list(query: Omit<NonNullable<AlertsListData['query']>, 'cursor'> = {}, call?: CallOptions): List<Alert, AlertList> {
    return new List(
      (page) => alertsList({ ...this.with(call), query: { ...query, ...page } }),
      ({ alerts }) => alerts,
    );
  }

  acknowledge(id: string, call?: CallOptions) {
    return alertsAcknowledge({ ...this.with(call), path: { id } });
  }

  async rules(call?: CallOptions) {
    return (await alertRulesList(this.with(call))).alertRules;
  }

  /** Replaces the settings of a rule. Requires an admin's session. */
  setRule(rule: string, body: SetAlertRuleBody, call?: CallOptions) {
    return alertRulesSet({ ...this.with(call), path: { rule }, body });
  }
}
