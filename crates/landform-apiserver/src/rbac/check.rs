//! The server's questions to the index: may this caller do this, and what may they do at all.

use super::ask::Ask;
use super::rule::Rule;
use crate::error::Result;
use crate::identity::Identity;
use crate::server::ApiServer;

impl ApiServer {
    /// 403 unless somebody may do what is asked.
    pub(crate) async fn authorize(&self, who: &Identity, ask: &Ask<'_>) -> Result<()> {
        // Parts of the server itself come this way with every request: nothing is looked up for them.
        if who.is_master() {
            return Ok(());
        }
        let rules = self.rules().await?;
        let mut each = who.each();
        match each.find(|one| rules.decide_for_one(one, ask).is_none()) {
            Some(one) => Err(ask.forbidden(one)),
            None => Ok(()),
        }
    }

    /// Whether somebody may do what is asked, and why, in words.
    pub(crate) async fn reason_to_allow(
        &self,
        who: &Identity,
        ask: &Ask<'_>,
    ) -> Result<Option<String>> {
        let rules = self.rules().await?;
        Ok(rules.decide(who, ask).map(|reason| reason.to_string()))
    }

    /// Every rule that somebody has in a namespace.
    pub(crate) async fn rules_of(&self, who: &Identity, namespace: &str) -> Result<Vec<Rule>> {
        let mut found = if who.is_master() {
            Rule::everything().to_vec()
        } else {
            Vec::new()
        };
        for (_, rule) in self.rules().await?.held(who, namespace) {
            if !found.contains(rule) {
                found.push(rule.clone());
            }
        }
        for other in &who.together {
            let rules = self.rules().await?;
            let held: Vec<&Rule> = rules.held(other, namespace).map(|(_, rule)| rule).collect();
            found.retain(|rule| held.contains(&rule));
        }
        Ok(found)
    }
}
