export { acknowledgeAlert, type AlertRow, findAlert, listAlerts, presentAlert } from './alerts/alert-row';
export { evaluateEventByRules } from './rules/evaluate-event';
export { listAlertRules, setAlertRule } from './rules/alert-rules';
export { purgeAlerts } from './sweeps/purge-alerts';
export { sweepAlerts } from './sweeps/sweep-alerts';
