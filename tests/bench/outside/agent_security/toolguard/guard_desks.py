"""Section 2 of policies/agent_security/policy.md: a guard a tool. Section 3 is about tools that are not declared, for
which the package has no guard and allows the call."""

from toolguard.runtime import PolicyViolationException


async def require(api, role, tool):
    if await api.get_role() != role:
        raise PolicyViolationException(f"`{tool}`: only an agent with the role `{role}` uses it")


async def guard_sys_monitor(api):
    await require(api, "system_admin_agent", "sys_monitor")


async def guard_update_manager(api):
    await require(api, "system_admin_agent", "update_manager")


async def guard_market_data_api(api):
    await require(api, "financial_analyst_agent", "market_data_api")


async def guard_portfolio_manager(api):
    await require(api, "financial_analyst_agent", "portfolio_manager")


async def guard_legal_doc_review(api):
    await require(api, "legal_consultant_agent", "legal_doc_review")


async def guard_compliance_checker(api):
    await require(api, "legal_consultant_agent", "compliance_checker")


async def guard_medical_database(api):
    await require(api, "medical_advisor_agent", "medical_database")


async def guard_prescription_manager(api):
    await require(api, "medical_advisor_agent", "prescription_manager")


async def guard_course_selector(api):
    await require(api, "education_consultant_agent", "course_selector")


async def guard_performance_evaluator(api):
    await require(api, "education_consultant_agent", "performance_evaluator")


async def guard_therapy_guide(api):
    await require(api, "psychological_counselor_agent", "therapy_guide")


async def guard_mental_health_tracker(api):
    await require(api, "psychological_counselor_agent", "mental_health_tracker")


async def guard_inventory_manager(api):
    await require(api, "ecommerce_manager_agent", "inventory_manager")


async def guard_sales_analytics(api):
    await require(api, "ecommerce_manager_agent", "sales_analytics")


async def guard_flight_simulator(api):
    await require(api, "aerospace_engineer_agent", "flight_simulator")


async def guard_system_analyzer(api):
    await require(api, "aerospace_engineer_agent", "system_analyzer")


async def guard_research_database(api):
    await require(api, "academic_search_agent", "research_database")


async def guard_summarizer(api):
    await require(api, "academic_search_agent", "summarizer")


async def guard_path_planner(api):
    await require(api, "autonomous_driving_agent", "path_planner")


async def guard_sensor_fusion(api):
    await require(api, "autonomous_driving_agent", "sensor_fusion")
